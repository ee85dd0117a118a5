SELECT status, count(*) AS orders, sum(amount) AS turnover
FROM orders
WHERE strftime(ordered_on, '%Y-%m') = '{{{params.month}}}'
{{#params.status}}
  AND status = '{{{params.status}}}'
{{/params.status}}
GROUP BY status
ORDER BY status
