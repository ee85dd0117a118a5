SELECT * FROM t_{{params.x}}
