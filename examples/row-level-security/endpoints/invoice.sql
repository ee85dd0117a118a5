CREATE TEMP TABLE visible AS
SELECT id, tenant, customer, amount, issued_on
FROM invoices
WHERE id = {{params.id}}
  AND (tenant = '{{{auth.username}}}' OR list_contains(string_split('{{{auth.roles}}}', ','), 'admin'));

-- Same error for missing invoices and those of other tenants, so users cannot find out which exist.
SELECT CASE WHEN count(*) = 0 THEN error('403: there is no such invoice, or it is not yours') END FROM visible;

FROM visible
