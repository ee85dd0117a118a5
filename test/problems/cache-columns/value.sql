SELECT id FROM orders
WHERE id = {{params.id}}
