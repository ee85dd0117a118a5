SELECT *
FROM 's3://bucket/orders.parquet'
