import { expect, test } from "vitest";
import { parse } from "yaml";
import { runCommandLine } from "../../src/cli/run.ts";
import { toYaml } from "../../src/config/to-yaml.ts";
import { describeProject } from "../../src/docs/project-document.ts";
import { everyKind } from "../openapi-project.ts";
import { compileTypes, conformance, lint, testWithTypes, validateWithPython } from "../openapi-tools.ts";
import { testWithPython } from "../python.ts";
import { testRuntime } from "../runtime.ts";
import { endpoint, type Files, serviceFrom, type TestService, writeFiles } from "../service.ts";

type Part = Readonly<Record<string, unknown>>;

/** A place in a document, references followed. */
function at(document: Part, ...path: readonly (string | number)[]): Part {
  const step = (part: Part, name: string | number): Part => {
    const next = part[name] as Part;
    const reference = next?.["$ref"];
    if (typeof reference !== "string" || Object.keys(next).length > 1) return next;
    return at(document, ...reference.slice(2).split("/"));
  };
  return path.reduce(step, document);
}

const documentOf = (service: TestService): Promise<Part> => describeProject(service.service, [service.url]);

async function documentFrom(files: Files): Promise<Part> {
  await using service = await serviceFrom(files);
  return await documentOf(service);
}

/** Several endpoints of one service, each under a path of its own: `/x0`, `/x1` and so on. */
function endpointsOf(all: readonly { readonly sql: string; readonly yaml?: string }[]): Files {
  const files = all.map(({ sql, yaml = "" }, index) => ({
    [`x${index}.yaml`]: `url-path: /x${index}\ntemplate-source: x${index}.sql\nconnection: [memory]\n${yaml}`,
    [`x${index}.sql`]: sql,
  }));
  return Object.assign({}, ...files);
}

/** Opened by the first test that wants it. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open();
    return opened;
  };
}

const everyKindDocument = once(() => documentFrom(everyKind));

/** The schema of a row of `/x`, without what SQL calls its types. */
async function rowOf(sql: string, yaml = ""): Promise<unknown> {
  const document = await documentFrom(endpoint(sql, yaml));
  return at(document, "components", "schemas", "GetXRow");
}

test("every answer is one that the document has", async () => {
  await using service = await serviceFrom(everyKind);
  // A cache has columns when it has been filled.
  await service.get("/table");
  const { check } = conformance(await documentOf(service));
  const ask = async (
    status: number,
    [method = "", path = "", url = path]: readonly string[],
    init: RequestInit = {},
  ) => {
    const response = await service.request(url, { ...init, method });
    expect([method, url, response.status]).toEqual([method, url, status]);
    return check(method, path, response);
  };
  const json = { "content-type": "application/json" };
  for (const format of ["json", "csv", "arrow", "ndjson", "parquet"]) {
    await ask(200, ["GET", "/items", `/items?format=${format}`]);
    await ask(200, ["GET", "/types", `/types?format=${format}`]);
  }
  const filtered = "/items?min_price=2.5&since=2024-01-03&sort=price&limit=2&offset=1";
  await ask(200, ["GET", "/items", filtered], { headers: { "x-user-region": "north" } });
  await ask(200, ["GET", "/items", "/items?limit=0"]);
  await ask(400, ["GET", "/items", "/items?limit=51&sort=zzz&format=xml"]);
  await ask(400, ["GET", "/items", "/items?%zz"]);
  await ask(406, ["GET", "/items"], { headers: { accept: "image/png" } });
  const tagOf = async (url: string) => (await service.get(url)).headers.get("etag") ?? "";
  await ask(304, ["GET", "/items"], { headers: { "if-none-match": await tagOf("/items") } });
  await ask(200, ["GET", "/items/{id}", "/items/7"]);
  expect(await ask(404, ["GET", "/items/{id}", "/items/700"])).toEqual({ error: "no such item" });
  await ask(400, ["GET", "/items/{id}", "/items/seven"]);
  const add = (status: number, body: string, headers: Record<string, string> = {}) =>
    ask(status, ["POST", "/items"], { body, headers: { ...json, ...headers } });
  await add(200, '{"id": 1000, "name": "new", "price": 12.50, "day": null, "fresh": true}');
  await add(400, '{"id": 0, "colour": "red"}');
  await add(400, "[]");
  await add(415, "{}", { "content-type": "text/plain" });
  await add(413, `{"name": "${"x".repeat(2 ** 20)}"}`);
  await add(200, '{"id": 1001, "name": "a"}', { "idempotency-key": "k" });
  await add(422, '{"id": 1002, "name": "b"}', { "idempotency-key": "k" });
  await add(406, '{"id": 1003, "name": "c"}', { accept: "text/csv" });
  const change = { body: '{"note": {"a": [1]}}', headers: { ...json, "x-reason": "because" } };
  await ask(200, ["PATCH", "/items/{id}", "/items/3"], change);
  await ask(400, ["PATCH", "/items/{id}", "/items/3"]);
  await ask(200, ["DELETE", "/items/{id}", "/items/3"]);
  const search = { body: '{"mail": "a@example.com", "at": "12:00:00.5"}', headers: json };
  await ask(200, ["POST", "/search", "/search?limit=1"], search);
  for (const format of ["json", "csv", "arrow", "ndjson", "parquet"]) {
    await ask(200, ["GET", "/single/{id}", `/single/7?format=${format}`]);
    await ask(404, ["GET", "/single/{id}", `/single/700?format=${format}`]);
  }
  expect(await ask(200, ["POST", "/single"], { body: '{"id": 7}', headers: json })).toMatchObject({ id: 7 });
  const create = (status: number, body: string, headers: Record<string, string> = {}) =>
    ask(status, ["POST", "/created"], { body, headers: { ...json, ...headers } });
  expect(await create(201, '{"id": 500, "name": "a"}')).toEqual({ rows_affected: 1, data: { id: 500, name: "a" } });
  await create(409, '{"id": 500, "name": "a"}');
  await create(422, '{"id": 501, "name": "nameless"}');
  const replacement = { body: '{"name": "b"}', headers: json };
  await ask(200, ["PUT", "/created/{id}", "/created/500"], replacement);
  await ask(404, ["PUT", "/created/{id}", "/created/501"], replacement);
  for (const path of ["/limited", "/kept", "/kept", "/table"]) await ask(200, ["GET", path]);
  await ask(304, ["GET", "/kept"], { headers: { "if-none-match": await tagOf("/kept") } });
  const authorization = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
  expect(await ask(200, ["GET", "/basic"], { headers: { authorization } })).toMatchObject({ data: [{ name: "ann" }] });
  for (const path of ["/basic", "/bearer", "/jwt"])
    expect(await ask(401, ["GET", path])).toEqual({ error: "Unauthorized" });
});

test("every type of the database is written as its schema says", async () => {
  const types = endpoint("SELECT * FROM test_all_types()", "with-pagination: false\n");
  const more = {
    "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: memory\n",
    "y.sql": `SELECT '"x"'::JSON AS text, '{"a": [1.50]}'::JSON AS json, 42::VARIANT AS variant, NULL AS nothing, 1 AS a, 2 AS a,
      'infinity'::TIMESTAMPTZ AS endless, '0044-03-15 (BC)'::DATE AS old, INTERVAL '-1 month 2 days' AS span,
      'nan'::DOUBLE AS nan, MAP {1.5: [NULL, 'x']} AS map, row(1, 'x') AS unnamed, [{'a': UUID '0190a1b2-0000-7000-8000-000000000001'}] AS list`,
  };
  await using service = await serviceFrom({ ...types, ...more });
  const { check } = conformance(await documentOf(service));
  const rows = (await check("GET", "/x", await service.get("/x"))) as Part[];
  expect(rows).toHaveLength(3);
  const document = await documentOf(service);
  expect(Object.keys(at(document, "components", "schemas", "GetXRow", "properties"))).toEqual(
    Object.keys(rows[0] ?? {}),
  );
  const page = (await check("GET", "/y", await service.get("/y"))) as { data: Part[] };
  expect(Object.keys(at(document, "components", "schemas", "GetYRow", "properties"))).toEqual(
    Object.keys(page.data[0] ?? {}),
  );
});

test("the schema of a row is that of the prepared query", async () => {
  expect(
    await rowOf(
      "SELECT 1::BIGINT AS big, 1::HUGEINT AS huge, 1.50::DECIMAL(12, 2) AS price, now() AS at, TIMESTAMP '2024-01-01' AS local, [{'a': 1}] AS list, 'a'::ENUM('a', 'b') AS kind",
    ),
  ).toEqual({
    type: "object",
    required: ["big", "huge", "price", "at", "local", "list", "kind"],
    properties: {
      big: { type: ["integer", "null"], format: "int64", "x-sql-type": "BIGINT" },
      huge: { type: ["integer", "null"], description: expect.stringContaining("39 digits"), "x-sql-type": "HUGEINT" },
      price: { $ref: "#/components/schemas/Decimal", "x-sql-type": "DECIMAL(12,2)" },
      at: { $ref: "#/components/schemas/TimestampWithZone", "x-sql-type": "TIMESTAMP WITH TIME ZONE" },
      local: { $ref: "#/components/schemas/Timestamp", "x-sql-type": "TIMESTAMP" },
      list: {
        type: ["array", "null"],
        items: {
          type: ["object", "null"],
          required: ["a"],
          properties: { a: { type: ["integer", "null"], format: "int32" } },
        },
        "x-sql-type": "STRUCT(a INTEGER)[]",
      },
      kind: { type: ["string", "null"], enum: ["a", "b", null], "x-sql-type": "ENUM('a', 'b')" },
    },
  });
});

test("columns that parameters choose are not promised", async () => {
  const request = `request:
  - { field-name: wide, field-in: query }
  - { field-name: column, field-in: query, default: a, validators: [{ type: enum, allowedValues: [a, b] }] }
`;
  const sql =
    "SELECT 1 AS id, {{{params.column}}} AS v {{#params.wide}}, 'x' AS more {{/params.wide}} FROM (SELECT 1 AS a, 'y' AS b)";
  expect(await rowOf(sql, request)).toMatchObject({
    required: ["id", "v"],
    properties: {
      v: { anyOf: [{ type: ["integer", "null"] }, { type: ["string", "null"] }], "x-sql-type": "INTEGER or VARCHAR" },
      more: { type: ["string", "null"], description: expect.stringContaining("depending on the parameters") },
    },
  });
});

test.each([
  ["what only the data tell", "PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)"],
  [
    "a choice between what is known and what is not",
    "{{#params.limit}}PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v){{/params.limit}}{{^params.limit}}SELECT 1 AS n{{/params.limit}}",
  ],
])("%s is left open", async (_, sql) => {
  expect(await rowOf(sql, "with-pagination: false\n")).toEqual({ type: "object", description: expect.any(String) });
});

test("the columns of a cache table are known before it is filled", async () => {
  await using service = await serviceFrom(everyKind);
  const row = at(await documentOf(service), "components", "schemas", "GetTableRow");
  expect(row).toMatchObject({ required: ["items", "worth"] });
});

const WRITE = "method: POST\noperation: { returns-data: true }\n";
const TABLE = { "eider.yaml": "connections:\n  memory: { init: 'CREATE TABLE t (id INTEGER, name VARCHAR)' }\n" };

const WRITES: readonly (readonly [name: string, sql: string, yaml: string, data: unknown])[] = [
  ["RETURNING", "INSERT INTO t VALUES (1, 'a') RETURNING id", WRITE, { id: "INTEGER" }],
  [
    "the last RETURNING",
    "INSERT INTO t VALUES (1, 'a') RETURNING name; UPDATE t SET id = 2",
    WRITE,
    { name: "VARCHAR" },
  ],
  ["a query at the end", "INSERT INTO t VALUES (1, 'a'); SELECT count(*) AS n FROM t", WRITE, { n: "BIGINT" }],
  [
    "MERGE",
    "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (1, 'a') RETURNING merge_action",
    WRITE,
    { merge_action: "VARCHAR" },
  ],
  ["none", "INSERT INTO t VALUES (1, 'a')", WRITE, undefined],
  ["none that are wanted", "INSERT INTO t VALUES (1, 'a') RETURNING id", "method: POST\n", undefined],
];

test("rows of a write", async () => {
  const endpoints = endpointsOf(WRITES.map(([, sql, yaml]) => ({ sql, yaml })));
  await using service = await serviceFrom({ ...TABLE, ...endpoints });
  const document = await documentOf(service);
  for (const [index, [name, , , data]] of WRITES.entries()) {
    const path = `/x${index}`;
    const schema = at(document, "paths", path, "post", "responses", "200", "content", "application/json", "schema");
    const required = data === undefined ? ["rows_affected"] : ["rows_affected", "data"];
    expect([name, schema["required"]]).toEqual([name, required]);
    expect([name, "data" in at(schema, "properties")]).toEqual([name, data !== undefined]);
    const row = at(document, "components", "schemas", `PostX${index}Row`)?.["properties"] as
      | Record<string, Part>
      | undefined;
    const types = row && Object.fromEntries(Object.entries(row).map(([column, it]) => [column, it["x-sql-type"]]));
    expect([name, types]).toEqual([name, data]);
    await conformance(document).check("POST", path, await service.request(path, { method: "POST" }));
  }
});

const declared = (...entries: readonly string[]): string =>
  `request:\n${entries.map((entry) => `  - { ${entry} }\n`).join("")}`;

const PARAMETERS: readonly (readonly [entry: string, parameter: unknown])[] = [
  [
    "field-name: n, field-in: query, required: true, validators: [{ type: int, min: 1, max: 9 }]",
    { name: "n", in: "query", required: true, schema: { type: "integer", format: "int64", minimum: 1, maximum: 9 } },
  ],
  [
    "field-name: n, field-in: query, required: true, default: '5', validators: [{ type: int }]",
    { name: "n", in: "query", schema: { type: "integer", format: "int64", default: 5 } },
  ],
  [
    "field-name: n, field-in: query, default: '9007199254740993', validators: [{ type: int }]",
    { name: "n", in: "query", schema: { type: "integer", format: "int64", description: "Default: 9007199254740993" } },
  ],
  [
    "field-name: n, field-in: query, default: '1.50', validators: [{ type: number, max: 2.5 }]",
    { name: "n", in: "query", schema: { type: "number", maximum: 2.5, default: 1.5 } },
  ],
  [
    "field-name: n, field-in: query, default: 'TRUE', validators: [{ type: boolean }]",
    { name: "n", in: "query", schema: { type: "boolean", default: true } },
  ],
  [
    "field-name: n, field-in: query, description: A name., validators: [{ type: string, min: 2, max: 5, regex: 'a|b+' }]",
    {
      name: "n",
      in: "query",
      description: "A name.",
      schema: { type: "string", minLength: 2, maxLength: 5, pattern: "^(?:a|b+)$" },
    },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: string, max: 5 }, { type: string, max: 3, regex: 'a+' }, { type: string, regex: 'a*' }]",
    {
      name: "n",
      in: "query",
      schema: { type: "string", maxLength: 3, pattern: "^(?:a+)$", allOf: [{ pattern: "^(?:a*)$" }] },
    },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: int }, { type: string, max: 3 }]",
    {
      name: "n",
      in: "query",
      schema: { type: "integer", format: "int64", description: "Must also be a valid string (maxLength 3)" },
    },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: int, min: 5 }, { type: enum, allowedValues: [1, 5, 7] }]",
    { name: "n", in: "query", schema: { type: "string", enum: ["5", "7"] } },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: email }]",
    { name: "n", in: "query", schema: { type: "string", format: "email" } },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: uuid }]",
    { name: "n", in: "query", schema: { type: "string", format: "uuid" } },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: date, min: 2024-01-01, max: 2024-12-31 }]",
    {
      name: "n",
      in: "query",
      schema: { type: "string", format: "date", description: "from 2024-01-01 to 2024-12-31" },
    },
  ],
  [
    "field-name: n, field-in: query, validators: [{ type: time }]",
    { name: "n", in: "query", schema: { type: "string", pattern: expect.stringMatching(/^\^.*\$$/) } },
  ],
  ["field-name: n, field-in: query", { name: "n", in: "query", schema: { type: "string" } }],
  ["field-name: x_user_region, field-in: header", { name: "X-User-Region", in: "header", schema: { type: "string" } }],
  [
    "field-name: limit, field-in: query, default: '20', validators: [{ type: int, min: 1, max: 99999 }]",
    {
      name: "limit",
      in: "query",
      schema: { type: "integer", format: "int64", minimum: 1, maximum: 10_000, default: 20 },
    },
  ],
  [
    "field-name: offset, field-in: query",
    { name: "offset", in: "query", schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } },
  ],
  [
    "field-name: format, field-in: query, validators: [{ type: enum, allowedValues: [csv, json, xml] }]",
    { name: "format", in: "query", schema: { type: "string", enum: ["csv", "json"] } },
  ],
];

const parametersDocument = once(() =>
  documentFrom(endpointsOf(PARAMETERS.map(([entry]) => ({ sql: "SELECT 1 AS n", yaml: declared(entry) })))),
);

test.each(PARAMETERS.map(([entry, parameter], index) => [entry, `/x${index}`, parameter] as const))(
  "parameter: %s",
  async (_, path, parameter) => {
    const document = await parametersDocument();
    const parameters = at(document, "paths", path, "get")["parameters"] as Part[];
    expect(parameters[0]).toEqual(parameter);
    const names = parameters.map((_, index) => at(document, "paths", path, "get", "parameters", index)["name"]);
    expect(new Set(names).size).toBe(names.length);
    for (const name of ["limit", "offset", "format"]) expect(names).toContain(name);
  },
);

test("what every read takes", async () => {
  const document = await documentFrom({
    "eider.yaml": "connections: { memory: }\nlimits: { max-page-size: 50, default-page-size: 7 }\n",
    ...endpoint("SELECT 1"),
  });
  expect(at(document, "components")["parameters"]).toEqual({
    limit: {
      name: "limit",
      in: "query",
      description: expect.any(String),
      schema: { type: "integer", minimum: 0, maximum: 50, default: 7 },
    },
    offset: {
      name: "offset",
      in: "query",
      description: expect.any(String),
      schema: { type: "integer", minimum: 0, maximum: 9007199254740991, default: 0 },
    },
    format: {
      name: "format",
      in: "query",
      description: expect.any(String),
      schema: { type: "string", enum: ["json", "csv", "arrow", "ndjson", "parquet"], default: "json" },
    },
  });
});

test("body fields", async () => {
  const body = declared(
    "field-name: id, field-in: body, required: true, description: The number., validators: [{ type: int, min: 1 }]",
    "field-name: kind, field-in: body, default: a, validators: [{ type: enum, allowedValues: [a, b] }]",
    "field-name: day, field-in: body, validators: [{ type: date, min: 2024-01-01 }], description: When.",
    "field-name: free, field-in: body, required: true",
  );
  const yaml = `method: POST\nrequest-fields-validation: true\n${body}`;
  const document = await documentFrom({
    ...TABLE,
    ...endpoint("INSERT INTO t VALUES ({{params.id}}, '{{{params.kind}}}')", yaml),
  });
  expect(at(document, "paths", "/x", "post")["requestBody"]).toEqual({
    required: true,
    content: { "application/json": { schema: { $ref: "#/components/schemas/PostXBody" } } },
  });
  expect(at(document, "components", "schemas", "PostXBody")).toEqual({
    type: "object",
    required: ["id", "free"],
    properties: {
      id: { type: "integer", format: "int64", minimum: 1, description: "The number." },
      kind: { type: ["string", "null"], enum: ["a", "b", null], default: "a" },
      day: { type: ["string", "null"], format: "date", description: "When. from 2024-01-01" },
      free: { type: ["string", "number", "boolean", "object", "array"], additionalProperties: true, items: {} },
    },
    additionalProperties: false,
  });
});

test("a write that does not want its validators only keeps lists that become SQL", async () => {
  const body = declared(
    "field-name: id, field-in: body, validators: [{ type: int }]",
    "field-name: col, field-in: body, required: true, validators: [{ type: enum, allowedValues: [id, name] }]",
    "field-name: word, field-in: query, validators: [{ type: enum, allowedValues: [x] }]",
  );
  const yaml = `method: PUT\noperation: { validate-before-write: false }\n${body}`;
  const sql = "UPDATE t SET {{{params.col}}} = '{{{params.word}}}' WHERE id = {{params.id}}";
  const document = await documentFrom({ ...TABLE, ...endpoint(sql, yaml) });
  const { properties } = at(document, "components", "schemas", "PutXBody") as { properties: Record<string, Part> };
  expect(properties["col"]).toEqual({ type: "string", enum: ["id", "name"] });
  expect(properties["id"]?.["type"]).toContain("object");
  expect((at(document, "paths", "/x", "put")["parameters"] as Part[])[0]?.["schema"]).toEqual({ type: "string" });
});

const STATUSES: readonly (readonly [name: string, yaml: string, statuses: string])[] = [
  ["a read", "", "200 304 400 406 500 503 504"],
  ["a write", "method: POST\n", "200 400 406 409 422 500 503 504"],
  [
    "a write with a body",
    `method: POST\n${declared("field-name: a, field-in: body")}`,
    "200 400 406 409 413 415 422 500 503 504",
  ],
  [
    "a read with a body",
    `method: POST\noperation: { type: Read }\n${declared("field-name: a, field-in: body")}`,
    "200 400 406 413 415 500 503 504",
  ],
  ["a GET that writes", "operation: { type: Write }\n", "200 400 406 409 422 500 503 504"],
  ["a rate limit", "rate-limit: { max: 5, interval: 1 }\n", "200 304 400 406 429 500 503 504"],
  ["basic", "auth: { type: basic, users: [{ username: a, password: b }] }\n", "200 304 400 401 406 429 500 503 504"],
  ["bearer", "auth: { type: bearer, token: t }\n", "200 304 400 401 406 500 503 504"],
];

test("statuses", async () => {
  const endpoints = STATUSES.map(([, yaml]) => {
    const isRead = !/POST|Write/.test(yaml) || yaml.includes("Read");
    return { sql: isRead ? "SELECT 1" : "DELETE FROM t", yaml };
  });
  const document = await documentFrom({ ...TABLE, ...endpointsOf(endpoints) });
  const found = STATUSES.map(([name], index) => {
    const [operation] = Object.values(at(document, "paths", `/x${index}`)) as Part[];
    return [name, Object.keys(operation?.["responses"] ?? {}).join(" ")];
  });
  expect(found).toEqual(STATUSES.map(([name, , statuses]) => [name, statuses]));
});

const RAISED: readonly (readonly [sql: string, extra: string])[] = [
  ["SELECT error('403: not yours')", "403"],
  ["SELECT CASE WHEN 1 = 2 THEN error('404: gone') WHEN 1 = 3 THEN error( '410: gone for good') END", "404 410"],
  ["SELECT error('4' || '18: tea')", "4XX"],
];

test("statuses that a template can raise", async () => {
  const document = await documentFrom(endpointsOf(RAISED.map(([sql]) => ({ sql }))));
  const own = "200 304 400 406 500 503 504".split(" ");
  const found = RAISED.map(([sql], index) => {
    const statuses = Object.keys(at(document, "paths", `/x${index}`, "get")["responses"] as Part);
    return [sql, statuses.filter((status) => !own.includes(status)).join(" ")];
  });
  expect(found).toEqual(RAISED);
});

test("a status that both raise has both shapes", async () => {
  await using service = await serviceFrom(endpoint("SELECT error('400: no good')"));
  const { check } = conformance(await documentOf(service));
  expect(await check("GET", "/x", await service.get("/x"))).toEqual({ error: "no good" });
  expect(await check("GET", "/x", await service.get("/x?limit=x"))).toHaveProperty("errors");
});

test("enforced HTTPS is told where a proxy must bring it", async () => {
  const main = "connections: { memory: { init: CREATE TABLE t (id INTEGER) } }\nenforce-https: { enabled: true }\n";
  await using service = await serviceFrom({
    "eider.yaml": main,
    ...endpoint("SELECT 1"),
    "y.yaml": "url-path: /y\nmethod: DELETE\ntemplate-source: y.sql\nconnection: memory\n",
    "y.sql": "DELETE FROM t",
  });
  const { check } = conformance(await documentOf(service));
  await check("GET", "/x", await service.request("/x", { redirect: "manual" }));
  await check("DELETE", "/y", await service.request("/y", { method: "DELETE" }));
});

test("who must show what, and how often one may call", async () => {
  const document = await everyKindDocument();
  const security = (path: string) => at(document, "paths", path, "get")["security"];
  expect(document["security"]).toEqual([]);
  expect(["/items", "/basic", "/bearer", "/jwt", "/oidc"].map(security)).toEqual([
    undefined,
    [{ basic: [] }],
    [{ bearer: [] }],
    [{ jwt: [] }],
    [{ oidc: [] }],
  ]);
  expect(at(document, "components")["securitySchemes"]).toEqual({
    basic: { type: "http", scheme: "basic" },
    bearer: { type: "http", scheme: "bearer" },
    jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    oidc: { type: "openIdConnect", openIdConnectUrl: "https://id.example/.well-known/openid-configuration" },
  });
  expect(at(document, "paths", "/limited", "get")).toMatchObject({
    description: "At most 1000000 requests per 60 seconds, per IP address.",
    "x-rate-limit": { max: 1_000_000, interval: 60, key: "ip" },
  });
  expect(at(document, "paths", "/kept", "get")).toMatchObject({
    description: "Rows come from a cache, refreshed every 5 minutes.",
    "x-cache": { kind: "rows", "max-age": 300 },
  });
  expect(JSON.stringify(document)).not.toMatch(/a-token-of|a-secret-of|"secret"/);
});

test("one object, and the statuses that a write may have", async () => {
  const document = await everyKindDocument();
  const operation = (path: string, method: string) => at(document, "paths", path, method);
  const statuses = (path: string, method: string) => Object.keys(at(operation(path, method), "responses"));
  const ok = at(operation("/single/{id}", "get"), "responses", "200");
  const row = { $ref: "#/components/schemas/GetSingleByIdRow" };
  expect(at(ok, "content", "application/json")["schema"]).toEqual(row);
  expect(Object.keys(at(ok, "headers"))).toEqual(["X-Request-Id", "Cache-Control", "ETag"]);
  expect(operation("/single/{id}", "get")["x-eider-returns"]).toBe("one");
  const named = operation("/single/{id}", "get")["parameters"] as Part[];
  expect(named.map((each) => each["name"] ?? each["$ref"])).toEqual(["id", "#/components/parameters/format"]);
  const written = at(operation("/created", "post"), "responses", "201", "content", "application/json", "schema");
  expect(at(written, "properties")["data"]).toEqual({ $ref: "#/components/schemas/PostCreatedRow" });
  expect(statuses("/single/{id}", "get")).toEqual(expect.arrayContaining(["200", "304", "404"]));
  expect(statuses("/created", "post")).toEqual(expect.arrayContaining(["200", "201", "404", "409", "422"]));
  expect(statuses("/created/{id}", "put")).toEqual(expect.arrayContaining(["200", "404", "409", "422"]));
  expect(statuses("/items/{id}", "delete")).not.toContain("404");
  expect(at(document, "components", "responses", "DuplicateOrConflict")["headers"]).not.toHaveProperty("Retry-After");
});

test("the words of the author", async () => {
  const document = await everyKindDocument();
  expect(document).toMatchObject({
    openapi: "3.1.0",
    info: { title: "Every kind", description: expect.stringContaining("of every kind"), version: "2.1.0" },
    servers: [{ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) }],
  });
  expect(at(document, "paths", "/items", "get")).toMatchObject({
    operationId: "getItems",
    summary: "Items",
    description: "Everything that is sold.\n\nThe newest come first.\n",
    tags: ["items", "shop"],
  });
  expect(at(document, "paths", "/items/{id}", "delete")).toMatchObject({
    deprecated: true,
    summary: "DELETE /items/:id",
  });
});

test("one path has one name for its placeholder, whatever the methods call it", async () => {
  const document = await everyKindDocument();
  expect(Object.keys(at(document, "paths"))).toContain("/items/{id}");
  expect(Object.keys(at(document, "paths"))).not.toContain("/items/{number}");
  const [parameter] = at(document, "paths", "/items/{id}", "patch")["parameters"] as Part[];
  expect(parameter).toEqual({ name: "id", in: "path", required: true, schema: { type: "integer", format: "int64" } });
});

test("Redocly's recommended rules find no error", async () => {
  const found = await lint(await everyKindDocument());
  // Nobody but the author knows the licence.
  expect(found.filter(({ rule }) => rule !== "info-license")).toEqual([]);
  expect(found.map(({ severity }) => severity)).toEqual(["warn"]);
  expect((await lint({ openapi: "3.1.0" })).map(({ severity }) => severity)).toContain("error");
});

testWithPython("openapi_spec_validator")("PyPI's validator finds nothing", async () => {
  const said = await validateWithPython([await everyKindDocument(), { openapi: "3.1.0" }]);
  expect(said).toEqual(["", expect.stringMatching(/./)]);
});

testWithTypes("openapi-typescript makes types that compile, and that say what is true", async () => {
  const program = `
type Row = components["schemas"]["GetItemsRow"];
const row: Row = { id: 1, name: "a", price: 1.5, sold: null, day: "2024-01-01" };
type Page = paths["/items"]["get"]["responses"]["200"]["content"]["application/json"];
const page: Page = { data: [row], next: "", total_count: 1 };
const body: components["schemas"]["PostItemsBody"] = { id: 1, name: "a", price: null, kind: "fancy" };
const id: operations["getItemsById"]["parameters"]["path"]["id"] = 7;
const sort: NonNullable<operations["getItems"]["parameters"]["query"]>["sort"] = "price";
// @ts-expect-error: no such column
row.colour;
// @ts-expect-error: no such value
const wrong: typeof sort = "colour";
export { body, id, page, wrong };
`;
  expect(await compileTypes(await everyKindDocument(), program)).toBe("");
});

test("eider openapi prints it, as JSON and as YAML", async () => {
  const folder = await writeFiles({
    ...everyKind,
    "eider.yaml": `${everyKind["eider.yaml"]}http-host: 0.0.0.0\nhttp-port: 9001\n`,
  });
  const print = async (...args: readonly string[]) => {
    const runtime = testRuntime({ cwd: folder });
    return {
      code: await runCommandLine(["openapi", ...args], runtime),
      text: runtime.stdoutText(),
      errors: runtime.stderrText(),
    };
  };
  const json = await print();
  const document = JSON.parse(json.text) as Part;
  expect(json.code).toBe(0);
  expect(document).toMatchObject({ openapi: "3.1.0", servers: [{ url: "http://localhost:9001" }] });
  expect((await print("--json")).text).toBe(json.text);
  const yaml = await print("--yaml", "--port", "1234");
  expect(parse(yaml.text)).toEqual({ ...document, servers: [{ url: "http://localhost:1234" }] });
  expect(await print("--json", "--yaml")).toMatchObject({ code: 2, text: "" });
  expect(await print("--config", "nowhere.yaml")).toMatchObject({
    code: 1,
    text: "",
    errors: expect.stringContaining("not found"),
  });
});

test("YAML reads as what JSON says", async () => {
  const document = await everyKindDocument();
  expect(parse(toYaml(document))).toEqual(document);
  const odd = {
    a: "yes",
    b: "1.0",
    c: "2024-01-01",
    d: "null",
    e: "line\nline",
    f: "~",
    g: "",
    h: " x ",
    i: "0x1f",
    j: "#",
    k: ["- a", "&b", "*c", "{d"],
    "": { "y: z": "é 😀" },
  };
  expect(parse(toYaml(odd))).toEqual(odd);
});
