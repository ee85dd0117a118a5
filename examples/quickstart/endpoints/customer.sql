SELECT c.id, c.name, c.email, c.region, count(o.id) AS orders, sum(o.amount)::DECIMAL(12, 2) AS amount
FROM read_csv('{{{conn.customers}}}') c
LEFT JOIN read_csv('{{{conn.orders}}}') o ON o.customer_id = c.id
WHERE c.id = {{params.id}}
GROUP BY ALL
