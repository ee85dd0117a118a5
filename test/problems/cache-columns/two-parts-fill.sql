-- As flAPI had it once.
CREATE OR REPLACE TABLE {{cache.schema}}.{{cache.table}} AS SELECT id FROM orders
