CREATE OR REPLACE TABLE cache.cache.another AS SELECT id FROM orders
