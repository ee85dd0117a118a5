SELECT * FROM t WHERE id = {{params.y}}
