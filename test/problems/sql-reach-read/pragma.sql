PRAGMA memory_limit = '100GB';
SELECT 1
