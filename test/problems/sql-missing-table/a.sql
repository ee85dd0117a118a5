SELECT *
FROM customers
