SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}
