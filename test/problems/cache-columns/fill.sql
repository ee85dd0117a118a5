SELECT id, status, changed FROM orders
