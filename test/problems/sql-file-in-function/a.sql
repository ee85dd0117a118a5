SELECT * FROM read_parquet('data/{{{params.x}}}.parquet')
