SELECT CASE
  WHEN NOT list_contains(string_split('{{{auth.roles}}}', ','), 'billing')
  THEN error('403: adding invoices needs the role billing')
END;

-- The tenant is the authenticated user. No parameter can change it.
INSERT INTO invoices (tenant, customer, amount)
VALUES ('{{{auth.username}}}', '{{{params.customer}}}', {{params.amount}})
RETURNING id, tenant, customer, amount, issued_on
