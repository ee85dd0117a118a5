import type { Files } from "./service.ts";

const head = (method: string, path: string, sql: string): string =>
  `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${sql}.sql\nconnection: [memory]\n`;

/** A project with every kind of endpoint: each validator, location, operation, authentication and cache. */
export const everyKind: Files = {
  "eider.yaml": `project-name: Every kind
project-description: Endpoints of every kind, for tools that read their description.
project-version: 2.1.0
connections:
  memory:
    init: |
      CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(12, 2), sold BIGINT, day DATE);
      INSERT INTO items SELECT i, 'item ' || i, i * 1.25, i * 1000, DATE '2024-01-01' + i::INTEGER FROM range(1, 30) r(i);
limits: { max-page-size: 50, default-page-size: 10 }
`,
  "items.yaml": `${head("GET", "/items", "items")}summary: Items
description: |
  Everything that is sold.

  The newest come first.
tags: [items, shop]
request:
  - field-name: min_price
    field-in: query
    description: The least price.
    validators: [{ type: number, min: 0, max: 1000.5 }]
  - field-name: since
    field-in: query
    validators: [{ type: date }]
  - field-name: sort
    field-in: query
    default: id
    validators: [{ type: enum, allowedValues: [id, price, name] }]
  - field-name: x_user_region
    field-in: header
    validators: [{ type: string, min: 2, max: 8, regex: "[a-z]+" }]
`,
  "items.sql": `SELECT id, name, price, sold, day FROM items
WHERE true {{#params.min_price}} AND price >= {{params.min_price}} {{/params.min_price}}
{{#params.since}} AND day >= '{{params.since}}' {{/params.since}}
{{#params.x_user_region}} AND '{{{params.x_user_region}}}' <> '' {{/params.x_user_region}}
ORDER BY {{{params.sort}}}`,
  "item.yaml": `${head("GET", "/items/:id", "item")}with-pagination: false
tags: [items]
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int, min: 1 }] }]
`,
  "item.sql": `SELECT * FROM (SELECT id, name, {'a': [1, 2], 'b': MAP {'x': 1.5}} AS nested FROM items WHERE id = {{params.id}})
UNION ALL SELECT error('404: no such item'), NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM items WHERE id = {{params.id}})`,
  "add-item.yaml": `${head("POST", "/items", "add-item")}tags: [items]
operation: { returns-data: true }
request-fields-validation: true
request:
  - { field-name: id, field-in: body, required: true, description: The number., validators: [{ type: int, min: 1, max: 2147483647 }] }
  - { field-name: name, field-in: body, required: true, validators: [{ type: string, min: 1, max: 20 }] }
  - { field-name: price, field-in: body, validators: [{ type: number, min: 0, max: 1000000 }] }
  - { field-name: day, field-in: body, validators: [{ type: date }] }
  - { field-name: kind, field-in: body, default: plain, validators: [{ type: enum, allowedValues: [plain, fancy] }] }
  - { field-name: fresh, field-in: body, validators: [{ type: boolean }] }
`,
  "add-item.sql": `INSERT OR REPLACE INTO items VALUES ({{params.id}}, '{{{params.name}}}', {{params.price}}::DECIMAL(12, 2), 0, {{params.day}}) RETURNING *`,
  "change-item.yaml": `${head("PATCH", "/items/:number", "change-item")}
request:
  - { field-name: number, field-in: path, required: true, validators: [{ type: int }] }
  - { field-name: note, field-in: body }
  - { field-name: x_reason, field-in: header, required: true }
`,
  "change-item.sql":
    "UPDATE items SET name = coalesce(left('{{{params.note}}}', 20), name) WHERE id = {{params.number}}",
  "remove-item.yaml": `${head("DELETE", "/items/:id", "remove-item")}deprecated: true
operation: { transaction: false }
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "remove-item.sql": "DELETE FROM items WHERE id = {{params.id}}",
  "single.yaml": `${head("GET", "/single/:id", "single")}returns: one
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int, min: 1 }] }]
`,
  "single.sql": "SELECT id, name, price FROM items WHERE id = {{params.id}}",
  "pick.yaml": `${head("POST", "/single", "single")}returns: one
operation: { type: Read }
request: [{ field-name: id, field-in: body, required: true, validators: [{ type: int, min: 1 }] }]
`,
  "create.yaml": `${head("POST", "/created", "create")}returns: one
operation: { returns-data: true, http-status: { constraint-failure: client-error, created: 201 } }
request:
  - { field-name: id, field-in: body, required: true, validators: [{ type: int, min: 1, max: 2147483647 }] }
  - { field-name: name, field-in: body, required: true, validators: [{ type: string, min: 1, max: 20 }] }
`,
  // The schema does not express that a name must not be NULL.
  "create.sql":
    "INSERT INTO items (id, name) VALUES ({{params.id}}, nullif({{params.name}}, 'nameless')) RETURNING id, name",
  "replace.yaml": `${head("PUT", "/created/:id", "replace")}operation: { http-status: { nothing-changed: 404 } }
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int, min: 1 }] }
  - { field-name: name, field-in: body, required: true, validators: [{ type: string, min: 1, max: 20 }] }
`,
  "replace.sql": "UPDATE items SET name = {{params.name}} WHERE id = {{params.id}}",
  "search.yaml": `${head("POST", "/search", "search")}operation: { type: Read }
request:
  - { field-name: mail, field-in: body, validators: [{ type: email }] }
  - { field-name: key, field-in: body, validators: [{ type: uuid }] }
  - { field-name: at, field-in: body, validators: [{ type: time }] }
`,
  "search.sql":
    "SELECT '{{{params.mail}}}' AS mail, '{{{params.key}}}' AS key, {{params.at}} AS at, TIMESTAMPTZ '2024-02-29 12:30:00+02' AS moment",
  "types.yaml": `${head("GET", "/types", "types")}with-pagination: false\n`,
  // Replaces the dates and timestamps of DuckDB's table that are too far in the past or future.
  "types.sql": `SELECT * REPLACE (DATE '2024-02-29' AS date, TIMESTAMPTZ '2024-02-29 12:30:00.25+02' AS timestamp_tz,
  [DATE '2024-02-29', NULL] AS date_array, [TIMESTAMPTZ '2024-02-29 12:30:00+02'] AS timestamptz_array) FROM test_all_types()`,
  "limited.yaml": `${head("GET", "/limited", "one")}rate-limit: { max: 1000000, interval: 60 }\n`,
  "kept.yaml": `${head("GET", "/kept", "kept")}cache: { schedule: 5m }
request: [{ field-name: n, field-in: query, default: "3", validators: [{ type: int, min: 0, max: 20 }] }]
`,
  "kept.sql": "SELECT range AS n, now() AS at FROM range({{params.n}})",
  "table.yaml": `${head("GET", "/table", "table")}cache: { table: totals, schedule: 1h, template-file: totals.sql }\n`,
  "table.sql": "SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}",
  "totals.sql": "SELECT count(*) AS items, sum(price) AS worth FROM items",
  "basic.yaml": `${head("GET", "/basic", "who")}auth: { type: basic, users: [{ username: ann, password: secret }] }\n`,
  "bearer.yaml": `${head("GET", "/bearer", "who")}auth: { type: bearer, token: a-token-of-some-length }\n`,
  "jwt.yaml": `${head("GET", "/jwt", "who")}auth: { type: bearer, jwt-secret: a-secret-of-thirty-two-characters }\n`,
  "oidc.yaml": `${head("GET", "/oidc", "who")}auth: { type: oidc, oidc: { issuer-url: "https://id.example", client-id: shop } }\n`,
  "who.sql": "SELECT '{{{auth.username}}}' AS name",
  "one.sql": "SELECT 1 AS n",
};
