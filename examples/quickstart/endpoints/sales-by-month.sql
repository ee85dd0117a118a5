SELECT date_trunc('month', ordered_at)::DATE AS month, count(*) AS orders, sum(amount)::DECIMAL(12, 2) AS turnover
FROM read_csv('{{{conn.orders}}}')
GROUP BY 1
ORDER BY {{{params.sort}}}
