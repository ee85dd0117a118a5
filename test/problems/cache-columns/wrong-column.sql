SELECT id,
  state
FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}
WHERE id > {{params.limit}}
