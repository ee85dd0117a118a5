SET threads = 1;
SELECT 1
