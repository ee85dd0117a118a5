SELECT * FROM query('SELECT ''{{{params.x}}}'' AS v')
