SELECT * FROM t ORDER BY {{{params.x}}}
