SELECT 1;
ATTACH '/srv/other.duckdb' AS other;
SELECT * FROM other.t
