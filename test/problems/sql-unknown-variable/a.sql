SELECT * FROM t WHERE id = {{x}}
