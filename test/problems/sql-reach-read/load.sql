-- for JSON
LOAD json;
SELECT 1
