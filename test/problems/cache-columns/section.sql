SELECT id FROM orders
{{#params.id}}WHERE id = {{params.id}}{{/params.id}}
