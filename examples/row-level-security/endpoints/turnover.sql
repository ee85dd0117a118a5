SELECT CASE
  WHEN NOT list_contains(string_split('{{{auth.roles}}}', ','), 'admin')
  THEN error('403: only admins see all tenants')
END;

SELECT tenant, count(*) AS invoices, sum(amount)::DECIMAL(12, 2) AS turnover
FROM invoices
GROUP BY tenant
ORDER BY tenant
