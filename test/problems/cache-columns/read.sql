SELECT id FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}
