import { describe, expect, test } from "vitest";
import { endpoint, problemsFrom, serviceFrom } from "../service.ts";

const MAIN = `connections:
  memory:
    init: |
      CREATE TABLE t (id INTEGER, name VARCHAR, day DATE);
      INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02');
`;
const request = (...entries: string[]): string => `request:\n${entries.map((entry) => `  - { ${entry} }\n`).join("")}`;
const query = (name: string, validators: string): string =>
  `field-name: ${name}, field-in: query, validators: [${validators}]`;
const SORT = `${query("sort", "{ type: enum, allowedValues: [id, nope, name desc] }")}, required: true`;

const problems = (sql: string, yaml = ""): Promise<string[]> =>
  problemsFrom({ "eider.yaml": MAIN, ...endpoint(sql, yaml) });

describe("the database's word on a template, at load, with its line", () => {
  test.each([
    [
      "SELECT *\nFROM missing\n",
      "",
      [/^x\.sql:2:6: no table missing in .*; Catalog Error: Table with name missing does not exist/],
    ],
    [
      "SELECT id,\n  nope FROM t",
      "",
      [/^x\.sql:2:3: no column nope in t; .*; Binder Error: Referenced column "nope" not found/],
    ],
    ["SELEC 1", "", [/^x\.sql:1:1: Parser Error: syntax error at or near "SELEC"/]],
    ["SELECT 1;\nSELECT * FORM t", "", [/^x\.sql:2:\d+: Parser Error: syntax error/]],
    [
      "SELECT * FROM t WHERE id = {{params.id}} AND nope = 1",
      request(query("id", "{ type: int }")),
      [/^x\.sql:1:46: no column nope in t; .*; Binder Error: Referenced column "nope"/],
    ],
    ["-- nothing\n;", "", [/^x\.sql:1:1: the template holds no SQL statement$/]],
    // an enum is tried with every value
    [
      "SELECT * FROM t ORDER BY {{{params.sort}}}",
      request(SORT),
      [
        /^x\.sql:1:26: no column nope in t; .*; Binder Error: .*"nope".*\(when params\.sort is 'nope'\); with \{\{params\.sort\}\} as a value: SQL does not accept a bound value here/s,
      ],
    ],
    [
      'SELECT "{{params.sort}}" FROM t',
      request(SORT),
      [/nope.*\(when params\.sort is 'nope'\)$/s, /\(when params\.sort is 'name desc'\)$/s],
    ],
    // a place without parameters
    [
      "SELECT * FROM t ORDER BY {{{params.name}}}",
      request(query("name", "{ type: string }")),
      [
        /^x\.sql:1:26: SQL does not accept a bound value here \(\{\{params\.name\}\}\); give the parameter an enum validator with the allowedValues/,
      ],
    ],
    [
      "SELECT * FROM {{{params.name}}}",
      request(query("name", "{ type: string }")),
      [/^x\.sql:1:15: SQL does not accept a bound value here/],
    ],
    // sections that fail by themselves, or only together
    [
      "SELECT * FROM t {{#params.id}}WHERE nope = {{params.id}}{{/params.id}}",
      request(query("id", "{ type: int }")),
      [/^x\.sql:1:37: .*"nope".*\(when params\.id is set\)$/s],
    ],
    [
      "SELECT * FROM t {{#params.id}}WHERE id = {{params.id}}{{/params.id}}{{#params.name}} WHERE name = '{{params.name}}'{{/params.name}}",
      request(query("id", "{ type: int }"), query("name", "{ type: string }")),
      [/^x\.sql:1:\d+: warning: Parser Error: .*\(when params\.id, params\.name are all set\)$/s],
    ],
    [
      "SELECT * FROM t WHERE {{#params.id}}id = {{params.id}}{{/params.id}}",
      request(query("id", "{ type: int }")),
      [/warning: Parser Error: .*\(when no optional parameter is set\)$/s],
    ],
    // reads that change something
    [
      "INSERT INTO t VALUES (3, 'c', NULL)",
      "",
      [/^x\.sql:1:1: a read endpoint must not change the database \(INSERT\); set operation\.type: Write/],
    ],
    ["SELECT 1;\n  DROP TABLE t; SELECT 2", "", [/^x\.sql:2:3: a read endpoint must not change the database \(DROP\)/]],
    ["WITH x AS (SELECT 1) DELETE FROM t", "", [/\(DELETE\)/]],
    ["EXPLAIN ANALYZE UPDATE t SET id = 1", "", [/\(UPDATE\)/]],
    ["COPY t TO 'x.csv'", "", [/must not run COPY;/]],
    [
      "{{#params.id}}SELECT{{/params.id}}{{^params.id}}DELETE{{/params.id}} FROM t",
      request(query("id", "{ type: int }")),
      [/\(DELETE\)/],
    ],
  ])("%s", async (sql, yaml, expected) => {
    expect(await problems(sql, yaml)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  });
});

describe("what is fine", () => {
  test.each([
    ["SELECT * FROM t WHERE id = {{params.id}}", request("field-name: id, field-in: query")],
    ["SELECT * FROM t WHERE day >= '{{{params.from}}} 00:00:00'", request("field-name: from, field-in: query")],
    ["SELECT * FROM t WHERE day = DATE '{{{params.from}}}'", request("field-name: from, field-in: query")],
    ["SELECT *, strftime(day, '{{{params.from}}}') FROM t", request("field-name: from, field-in: query")],
    [
      "SELECT * FROM t WHERE id IN (SELECT unnest(string_split('{{{params.ids}}}', ',')::BIGINT[]))",
      request("field-name: ids, field-in: query"),
    ],
    ["CREATE TEMP TABLE u AS SELECT * FROM t; INSERT INTO u VALUES (9, 'z', NULL); SELECT * FROM u", ""],
    ["SET VARIABLE v = '{{{params.x}}}'; SELECT getvariable('v') AS v", request("field-name: x, field-in: query")],
    ["DESCRIBE t", ""],
    ["FROM t", ""],
    ["(SELECT 1) UNION ALL (SELECT 2)", ""],
    ["PIVOT t ON name USING count(*)", ""],
    [
      "SELECT * FROM t WHERE name = '{{{auth.username}}}' {{#auth.roles}}AND '{{{auth.roles}}}' LIKE '%admin%'{{/auth.roles}}",
      "",
    ],
    ["SELECT * FROM t /* {{params.nothing}} */ -- {{else}}", ""],
    [
      "INSERT INTO t (id) VALUES ({{params.id}}); UPDATE t SET id = 1 WHERE id = {{params.id}} RETURNING *",
      `${request(query("id", "{ type: int }"))}operation: { type: Write }\n`,
    ],
  ])("%s", async (sql, yaml) => {
    expect(await problems(sql, yaml)).toEqual([]);
  });
});

describe("a whole number where SQL takes no parameter is inlined", () => {
  test.each([
    ["SELECT day + {{params.n}} AS v FROM t WHERE id = 1", "?n=3", [{ v: "2024-01-04" }]],
    ["SELECT (DATE '2024-01-01' + INTERVAL {{params.n}} DAY)::DATE AS v", "?n=-1", [{ v: "2023-12-31" }]],
    ["SELECT id AS v FROM t ORDER BY {{params.n}}", "?n=1", [{ v: 1 }, { v: 2 }]],
    ["SELECT 10 -{{params.n}} AS v, DATE '2024-01-01' + {{params.n}} AS d", "?n=-5", [{ v: 15, d: "2023-12-27" }]],
  ])("%s with %s", async (sql, search, expected) => {
    const yaml = `with-pagination: false\n${request(`${query("n", "{ type: int }")}, default: '1'`)}`;
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint(sql, yaml) });
    expect(await service.json(`/x${search}`)).toEqual(expected);
  });
});

test("a bad init and a bad setting are problems with their place", async () => {
  expect(await problemsFrom({ "eider.yaml": "connections:\n  c:\n    init: SELEC 1\n" })).toEqual([
    expect.stringMatching(/^eider\.yaml:3:\d+: connections\.c\.init: Parser Error: syntax error at or near "SELEC"/),
  ]);
  expect(await problemsFrom({ "eider.yaml": "duckdb:\n  threads: many\nconnections:\n  c: {}\n" })).toEqual([
    expect.stringMatching(/^eider\.yaml:2:\d+: duckdb\.threads: /),
  ]);
  expect(await problemsFrom({ "eider.yaml": "duckdb:\n  treads: 2\nconnections:\n  c: {}\n" })).toEqual([
    expect.stringMatching(/^eider\.yaml:2:3: duckdb\.treads: /),
  ]);
});

test("a source that is down leaves its templates parsed", async () => {
  const main = "connections:\n  memory:\n    init: ATTACH 'nowhere/x.duckdb' AS far (READ_ONLY)\n";
  expect(await problemsFrom({ "eider.yaml": main, ...endpoint("SELECT * FROM far.t") })).toEqual([
    expect.stringMatching(
      /^eider\.yaml:2:3: warning: connections\.memory: connection 'memory' cannot be reached: IO Error: .*; its endpoints return 503 until it is back, and their templates were parsed but not checked against the database$/s,
    ),
  ]);
  expect(await problemsFrom({ "eider.yaml": main, ...endpoint("SELECT * FORM far.t") })).toEqual([
    expect.stringMatching(/cannot be reached/),
    expect.stringMatching(/^x\.sql:1:\d+: Parser Error/),
  ]);
});
