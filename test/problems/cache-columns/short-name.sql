SELECT id FROM {{cache.schema}}.{{cache.table}}
