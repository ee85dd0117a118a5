INSERT INTO {{cache.catalog}}.{{cache.schema}}.{{cache.table}} SELECT id FROM orders
