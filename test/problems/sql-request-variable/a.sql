SELECT * FROM t WHERE id = {{request.x}}
