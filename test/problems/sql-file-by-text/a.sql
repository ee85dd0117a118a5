SELECT * FROM '{{{params.x}}}.csv'
