UPDATE t SET name = 'x';
SELECT * FROM t
