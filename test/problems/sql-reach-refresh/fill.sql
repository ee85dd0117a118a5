COPY (SELECT 1 AS n) TO 'fill.csv';
SELECT * FROM 'fill.csv'
