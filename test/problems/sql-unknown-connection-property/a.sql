SELECT * FROM '{{{conn.path}}}'
