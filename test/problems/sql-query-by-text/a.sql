SELECT * FROM query('FROM ' || {{params.x}})
