SELECT *
FROM missing
