SELECT c.id, o.status, c.state FROM orders AS o JOIN cache.cache.wrong_column AS c USING (id)
