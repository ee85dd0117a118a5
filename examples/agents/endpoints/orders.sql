SELECT id, customer, status, amount, ordered_on
FROM orders
WHERE true
{{#params.status}}
  AND status = '{{{params.status}}}'
{{/params.status}}
{{#params.least}}
  AND amount >= {{params.least}}
{{/params.least}}
ORDER BY ordered_on DESC, id
