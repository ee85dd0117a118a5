-- Another schema of the same name.
CREATE OR REPLACE TABLE shop.two_parts AS SELECT id FROM orders
