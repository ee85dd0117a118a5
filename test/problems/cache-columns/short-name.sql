SELECT id FROM {{cache.table}}
