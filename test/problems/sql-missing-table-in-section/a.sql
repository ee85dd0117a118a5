SELECT * FROM t
{{#params.x}}
WHERE id IN (SELECT id FROM nope WHERE name = '{{{params.x}}}')
{{/params.x}}
