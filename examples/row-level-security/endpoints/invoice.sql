CREATE TEMP TABLE visible AS
SELECT id, tenant, customer, amount, issued_on
FROM invoices
WHERE id = {{params.id}}
  AND (tenant = '{{{auth.username}}}' OR list_contains(string_split('{{{auth.roles}}}', ','), 'admin'));

-- The same for what is not there and for what is not theirs: nobody learns which invoices others have.
SELECT CASE WHEN count(*) = 0 THEN error('403: there is no such invoice, or it is not yours') END FROM visible;

FROM visible
