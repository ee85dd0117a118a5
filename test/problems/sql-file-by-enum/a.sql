SELECT * FROM read_csv('{{{params.x}}}.csv')
