SELECT wrong_column.id FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}
