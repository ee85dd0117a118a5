SELECT id, tenant, customer, amount, issued_on
FROM invoices
WHERE tenant = '{{{auth.username}}}'
   OR list_contains(string_split('{{{auth.roles}}}', ','), 'admin')
ORDER BY issued_on DESC, id DESC
