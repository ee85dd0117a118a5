import type { Files } from "./service.ts";

const head = (method: string, path: string, sql: string): string =>
  `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${sql}.sql\nconnection: [memory]\n`;

/** Every kind of endpoint for which a generated client has methods. */
export const clientProject: Files = {
  "eider.yaml": `project-name: Shop
connections:
  memory:
    init: |
      CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR, balance DECIMAL(38, 10), tier ENUM ('gold', 'plain'));
      INSERT INTO customers SELECT 9007199254740990 + i, 'customer ' || i, i * 0.1, 'plain' FROM range(1, 26) r(i);
  gone: { init: "ATTACH '/nowhere/at/all.db' AS gone" }
limits: { default-page-size: 10 }
`,
  "customers.yaml": `${head("GET", "/customers", "customers")}summary: Customers
description: All of them.
request:
  - { field-name: sort, field-in: query, default: id, validators: [{ type: enum, allowedValues: [id, name] }] }
  - { field-name: least, field-in: query, description: The least number., validators: [{ type: int, min: 1 }] }
  - { field-name: max_balance, field-in: query, validators: [{ type: number }] }
  - { field-name: x_region, field-in: header, validators: [{ type: string, max: 5 }] }
`,
  "customers.sql": `SELECT *, '{{{params.x_region}}}' AS region FROM customers
WHERE true {{#params.least}} AND id >= {{params.least}} {{/params.least}}
{{#params.max_balance}} AND balance <= {{params.max_balance}} {{/params.max_balance}} ORDER BY {{{params.sort}}}`,
  "customer.yaml": `${head("GET", "/customers/:id", "customer")}with-pagination: false
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "customer.sql": `SELECT * FROM customers WHERE id = {{params.id}}
UNION ALL SELECT error('404: no such customer'), NULL, NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM customers WHERE id = {{params.id}})`,
  "add.yaml": `${head("POST", "/customers", "add")}operation: { returns-data: true }
request:
  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }
  - { field-name: name, field-in: body, required: true, validators: [{ type: string, min: 1 }] }
  - { field-name: balance, field-in: body, validators: [{ type: number }] }
  - { field-name: tier, field-in: body, default: plain, validators: [{ type: enum, allowedValues: [gold, plain] }] }
`,
  "add.sql":
    "INSERT INTO customers VALUES ({{params.id}}, '{{{params.name}}}', {{params.balance}}, '{{{params.tier}}}') RETURNING *",
  "rename.yaml": `${head("PUT", "/customers/:id", "rename")}deprecated: true
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }
  - { field-name: name, field-in: body, required: true, validators: [{ type: string, min: 1 }] }
`,
  "rename.sql": "UPDATE customers SET name = '{{{params.name}}}' WHERE id = {{params.id}}",
  "remove.yaml": `${head("DELETE", "/customers/:id", "remove")}
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "remove.sql": "DELETE FROM customers WHERE id = {{params.id}}",
  "search.yaml": `${head("POST", "/search", "search")}operation: { type: Read }
request: [{ field-name: names, field-in: body, required: true }, { field-name: note, field-in: body }]
`,
  "search.sql": `SELECT name, '{{{params.note}}}'::JSON AS note FROM customers
WHERE list_contains('{{{params.names}}}'::JSON::VARCHAR[], name) ORDER BY id`,
  "single.yaml": `${head("GET", "/single/:id", "single")}returns: one
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "single.sql": "SELECT * FROM customers WHERE id = {{params.id}}",
  "upgrade.yaml": `${head("PATCH", "/single/:id", "upgrade")}returns: one
operation: { returns-data: true, http-status: { constraint-failure: client-error } }
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }
  - { field-name: new_id, field-in: body, validators: [{ type: int }] }
`,
  "upgrade.sql":
    "UPDATE customers SET tier = 'gold', id = coalesce({{params.new_id}}, id) WHERE id = {{params.id}} RETURNING id, tier",
  "wide.yaml": `${head("GET", "/wide", "wide")}with-pagination: false\n`,
  "wide.sql": `SELECT 170141183460469231731687303715884105727 AS huge, -9223372036854775808 AS big, 1.10::DECIMAL(9, 2) AS price,
  0.1::DOUBLE AS ratio, {'id': 9007199254740993, 'many': [1.50::DECIMAL(9, 2), NULL]} AS nested,
  MAP {'a': 9007199254740993} AS counts, MAP {'a': {'n': 9007199254740993}} AS deep,
  [{'n': 9007199254740993, 'd': DATE '2024-02-29'}] AS list,
  '{"a": [12345678901234567890, 1.5]}'::JSON AS doc, union_value(n := 5::BIGINT)::UNION(n BIGINT, s VARCHAR) AS one,
  union_value(n := 5::BIGINT)::UNION(n BIGINT, d DOUBLE) AS mixed, NULL AS nothing, true AS yes, 'x' AS text`,
  "whoami.yaml": `${head("GET", "/basic", "whoami")}with-pagination: false
auth: { type: basic, users: [{ username: änn, password: "sécret:x" }] }
`,
  "token.yaml": `${head("GET", "/bearer", "whoami")}with-pagination: false
auth: { type: bearer, tokens: [{ token: a-token-of-some-length, username: ben }] }
`,
  "whoami.sql": "SELECT '{{{auth.username}}}' AS name",
  "limited.yaml": `${head("GET", "/limited", "one")}rate-limit: { max: 1, interval: 60 }\n`,
  "one.sql": "SELECT 1 AS n",
  "slow.yaml": head("GET", "/slow", "slow"),
  "slow.sql": "SELECT count(*) AS n FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = -1",
  "raise.yaml": `${head("POST", "/raise", "raise")}
request: [{ field-name: what, field-in: body, required: true, validators: [{ type: string }] }]
`,
  "raise.sql": "UPDATE customers SET name = error('{{{params.what}}}')",
  "gone.yaml": "url-path: /gone\ntemplate-source: gone.sql\nconnection: [gone]\n",
  "gone.sql": "SELECT * FROM gone.things",
};

/** Text that breaks out of comments and literals that are not escaped. */
const NASTY = `*/ alert(1); /* " ' \` \${alert(2)} \\ </script> \u2028 \u202e @deprecated {@link x}`;
const yaml = (text: string): string => JSON.stringify(text);

export const hostileNames = ["__proto__", "constructor", "toString", "class", "1abc", `"'\`;*/\\`, "\u202e", "ünï"];

/** A project with hostile names and texts that are allowed. */
export const hostileProject: Files = {
  "eider.yaml": `project-name: ${yaml(NASTY)}\nconnections: { memory: {} }\n`,
  "nasty.yaml": `${head("POST", `"/na'sty\`;$(x)/é"`, "nasty")}operation: { type: Read }
with-pagination: false
summary: ${yaml(NASTY)}
description: ${yaml(`${NASTY}\n${NASTY}`)}
request:
${hostileNames
  .map(
    (name) =>
      `  - { field-name: ${yaml(name)}, field-in: ${name === "\u202e" ? "body" : "query"}, description: ${yaml(NASTY)} }\n`,
  )
  .join("")}  - field-name: choice
    field-in: body
    default: ${yaml(NASTY)}
    validators: [{ type: enum, allowedValues: [${yaml(NASTY)}, "\\n", "'"] }]
`,
  "nasty.sql": `SELECT 9007199254740993 AS "__proto__", 9007199254740993 AS "constructor", 1 AS "class", 2 AS "1abc",
  {'__proto__': 9007199254740993, '*/': 1.10} AS "*/ "" ' \`\${x}\\", '{{{params.__proto__}}}' AS p,
  '{{{params.toString}}}' AS t, '{{{params.choice}}}' AS choice, 'a*/b'::ENUM ('a*/b', '"', '\`\${x}') AS e`,
  "class.yaml": `${head("GET", "/class", "one")}\n`,
  "class2.yaml": `${head("GET", "/-class-", "one")}\n`,
  "one.sql": "SELECT 1 AS n",
};
