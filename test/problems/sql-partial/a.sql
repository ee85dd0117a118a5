{{> header}}
SELECT 1
