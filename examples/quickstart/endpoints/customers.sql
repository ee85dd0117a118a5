SELECT id, name, email, region, created_at
FROM read_csv('{{{conn.customers}}}')
WHERE true
{{#params.region}}
  AND region = '{{{params.region}}}'
{{/params.region}}
{{#params.name}}
  AND name ILIKE '%{{{params.name}}}%'
{{/params.name}}
{{#params.since}}
  AND created_at >= {{params.since}}
{{/params.since}}
ORDER BY created_at DESC, id
