import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/run.ts";
import { testRuntime } from "../runtime.ts";
import { until } from "../until.ts";
import { type Files, folderWith, run, runHere, start, startHere } from "./program.ts";

/** A table in memory, a list of its rows, and a write. */
const PROJECT: Files = {
  "eider.yaml": `connections:
  shop:
    init: |
      CREATE TABLE pets (id INTEGER PRIMARY KEY, name VARCHAR, kind VARCHAR);
      INSERT INTO pets VALUES (1, 'Ada', 'cat'), (2, 'Bo', 'dog'), (3, 'Cy', 'cat');
`,
  "pets.yaml": `url-path: /pets
template-source: pets.sql
connection: shop
request:
  - field-name: kind
    field-in: query
    validators: [{ type: enum, allowedValues: [cat, dog] }]
`,
  "pets.sql":
    "SELECT id, name, kind FROM pets\n{{#params.kind}}\nWHERE kind = '{{{params.kind}}}'\n{{/params.kind}}\nORDER BY id",
  "add.yaml": `url-path: /pets
method: POST
template-source: add.sql
connection: shop
operation: { http-status: { constraint-failure: client-error } }
request:
  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }
`,
  "add.sql": "INSERT INTO pets VALUES ({{params.id}}, 'New', 'dog')",
};

const PASSING = `endpoint: GET /pets
tests:
  - name: lists cats
    request: { query: { kind: cat } }
    expect: { rows: 2, total-count: 2, columns: [id, name, kind], every-row: { kind: cat }, first-row: { name: Ada } }
  - name: lists all
    expect:
      status: 200
      rows: [{ id: 1, name: Ada, kind: cat }, { id: 2, name: Bo, kind: dog }, { id: 3, name: Cy, kind: cat }]
  - name: rejects fish
    request: { query: { kind: fish } }
    expect: { errors: { kind: Invalid enum value } }
  - name: writes CSV
    request: { query: { kind: dog }, headers: { Accept: text/csv } }
    expect: { body: "id,name,kind\\r\\n2,Bo,dog\\r\\n" }
`;

/** The lines of an output that contain a text. */
const linesWith = (output: string, text: string): readonly string[] =>
  output.split("\n").filter((line) => line.includes(text));

test("tests that pass: a line per file, a table of the coverage, exit code 0", async () => {
  const { code, stdout, stderr } = await run({ ...PROJECT, "pets.test.yaml": PASSING }, { args: ["test"] });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(`ok pets.test.yaml (4 of 4 passed)

coverage\tcovered\ttotal\tpercent
endpoints\t1\t2\t50%
template sections\t2\t2\t100%
validators\t1\t3\t33%
declared failures\t0\t1\t0%
all\t4\t8\t50%
add.yaml:1:1: not covered: no test calls POST /pets
add.yaml:5:14: not covered: 409 or 422 (constraint) never happens
add.yaml:7:39: not covered: 'id' is never missing
add.yaml:7:68: not covered: the validator 'int' of 'id' never rejects a value

4 passed, 0 failed
`);
});

test("a test that fails shows what was expected and what came, with file and line, and exits with 1", async () => {
  const text = `endpoint: GET /pets
tests:
  - name: counts
    expect:
      rows: 2
      total-count: 4
  - name: compares
    expect:
      first-row:
        name: Bo
      every-row: { kind: cat }
      columns: [id, name]
      rows:
        - { id: 1, name: Ada, kind: cat }
  - name: status
    request: { query: { kind: fish } }
    expect: { rows: 1 }
`;
  const { code, stdout } = await run({ ...PROJECT, "pets.test.yaml": text }, { args: ["test"] });
  expect(code).toBe(1);
  expect(stdout.slice(0, stdout.indexOf("\n\n"))).toBe(`FAILED pets.test.yaml (0 of 3 passed)
  counts
    pets.test.yaml:5:13: expect.rows
      - 2 rows
      + 3 rows
    pets.test.yaml:6:20: expect.total-count
      - 4
      + 3
  compares
    pets.test.yaml:13:7: expect.rows[1]
      - nothing
      + {"id":2,"name":"Bo","kind":"dog"}
    pets.test.yaml:13:7: expect.rows[2]
      - nothing
      + {"id":3,"name":"Cy","kind":"cat"}
    pets.test.yaml:12:7: expect.columns[2]
      - nothing
      + "kind"
    pets.test.yaml:11:26: expect.every-row.kind
      - "cat"
      + "dog" in row 2
    pets.test.yaml:10:15: expect.first-row.name
      - "Bo"
      + "Ada"
  status
    pets.test.yaml:17:5: expect.status
      - 200 to 299
      + 400, {"errors":[{"field":"kind","message":"Invalid enum value"}]}
    pets.test.yaml:17:21: expect.rows
      - 1 rows
      + no rows`);
  expect(stdout).toMatch(/\n0 passed, 3 failed\n$/);
});

test("each test starts from the same data, and setup changes only its own", async () => {
  const text = `endpoint: POST /pets
tests:
  - name: adds
    request: { body: { id: 4 } }
    expect: { body: { rows_affected: 1 } }
  - name: adds again
    request: { body: { id: 4 } }
    expect: { body: { rows_affected: 1 } }
  - name: conflicts
    setup: "INSERT INTO pets VALUES (4, 'Di', 'cat'); UPDATE pets SET kind = 'dog'"
    request: { body: { id: 4 } }
    expect: { status: 409 }
  - name: needs an integer
    request: { body: { id: four } }
    expect: { errors: { id: Invalid integer value } }
  - name: needs a value
    request: { body: {} }
    expect: { errors: { id: Required field is missing } }
`;
  const { code, stdout } = await runHere(
    { ...PROJECT, "a.test.yaml": text, "b.test.yaml": PASSING },
    { args: ["test", "--coverage-min", "100"] },
  );
  expect(stdout).toContain("ok a.test.yaml (5 of 5 passed)\nok b.test.yaml (4 of 4 passed)\n");
  expect(stdout).toContain("all\t8\t8\t100%\n");
  expect(code).toBe(0);
});

test("a setup that fails, or reaches beyond the data", async () => {
  const text = (setup: string): string =>
    `endpoint: GET /pets\ntests:\n  - name: a\n    setup: ${setup}\n    expect: { rows: 0 }\n`;
  const failed = await runHere({ ...PROJECT, "a.test.yaml": text("DELETE FROM cats") }, { args: ["test"] });
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain("a.test.yaml:4:12: setup: Catalog Error: Table with name cats does not exist!");
  const refused = await runHere({ ...PROJECT, "a.test.yaml": text("COPY pets TO 'pets.csv'") }, { args: ["test"] });
  expect(refused).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "a.test.yaml:4:12: tests[0].setup: 'COPY' reaches beyond the copy of the data; a setup may only change data\n",
  });
});

/** A folder with three DuckDB files, each with a table that endpoints change. */
async function folderWithDatabases() {
  const folder = await folderWith({
    "eider.yaml": `duckdb: { db_path: main.db }
connections:
  own: {}
  typed: { type: duckdb, path: ./typed.db }
  attached: { init: "ATTACH 'attached.db' AS attached; -- writable\\nATTACH ':memory:' AS scratch" }
  property: { properties: { file: ./typed.db } }
`,
    ...Object.fromEntries(
      [
        ["own", "t"],
        ["typed", "typed.t"],
        ["attached", "attached.t"],
      ].flatMap(([name, table]) => [
        [`${name}.yaml`, `url-path: /${name}\nmethod: POST\ntemplate-source: ${name}.sql\nconnection: ${name}\n`],
        [`${name}.sql`, `INSERT INTO ${table} VALUES (2)`],
        [
          `${name}.test.yaml`,
          `endpoint: /${name}\ntests:\n${[1, 2]
            .map(
              (n) =>
                `  - name: adds ${n}\n    setup: DELETE FROM ${table}\n    expect: { body: { rows_affected: 1 } }\n`,
            )
            .join("")}`,
        ],
      ]),
    ),
    "path.yaml": "url-path: /path\ntemplate-source: path.sql\nconnection: property\nwith-pagination: false\n",
    "path.sql": "SELECT '{{{conn.file}}}' AS file",
    "path.test.yaml": "endpoint: /path\ntests:\n  - name: a\n    expect: { rows: 1 }\n",
  });
  for (const name of ["main", "typed", "attached"]) {
    const instance = await DuckDBInstance.create(join(folder.path, `${name}.db`));
    const connection = await instance.connect();
    await connection.run("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)");
    connection.closeSync();
    instance.closeSync();
  }
  return folder;
}

async function contentsOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder)).sort();
  const hashed = names.map(async (name) => {
    const bytes = await readFile(join(folder, name));
    return [name, createHash("sha256").update(bytes).digest("hex")] as const;
  });
  return Object.fromEntries(await Promise.all(hashed));
}

test("database files are copied, never changed", async () => {
  await using folder = await folderWithDatabases();
  await using temporary = await folderWith({});
  const before = await contentsOf(folder.path);
  const { code, stdout, stderr } = await run({}, { args: ["test"], cwd: folder.path, env: { TMPDIR: temporary.path } });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/\n7 passed, 0 failed\n$/);
  expect(code).toBe(0);
  expect(await contentsOf(folder.path)).toEqual(before);
  expect(await readdir(temporary.path)).toEqual([]);
});

test("caches, the audit log and rate limits of the project are left alone", async () => {
  await using folder = await folderWith({
    "eider.yaml":
      "connections: { shop: }\ncache: { path: cache.db }\naudit: { sink: file, path: audit.log }\nrate-limit: { max: 1, interval: 60 }\n",
    "x.yaml":
      "url-path: /x\ntemplate-source: x.sql\nconnection: shop\nwith-pagination: false\ncache: { schedule: 1h }\n",
    "x.sql": "SELECT 1 AS n",
    "x.test.yaml": `endpoint: /x\ntests:\n${[1, 2, 3].map((n) => `  - { name: "${n}", expect: { rows: 1 } }\n`).join("")}`,
  });
  const before = await readdir(folder.path);
  const { code, stdout, stderr } = await runHere({}, { args: ["test"], cwd: folder.path });
  expect([stderr, stdout]).toEqual(["", expect.stringContaining("\n3 passed, 0 failed\n")]);
  expect(code).toBe(0);
  expect(await readdir(folder.path)).toEqual(before);
});

test("tests run while a service has the database open", async () => {
  await using folder = await folderWithDatabases();
  await using service = await start({}, { args: ["serve", "--port", "0"], cwd: folder.path });
  const url = await service.url();
  expect((await fetch(`${url}/own`, { method: "POST" })).status).toBe(200);
  const { code, stdout } = await run({}, { args: ["test", "own"], cwd: folder.path });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/\n2 passed, 0 failed\n$/)]);
});

test.each([
  ["ATTACH 'md:shop'", "it attaches a database for writing that cannot be copied; add READ_ONLY"],
  ["ATTACH $$x.db$$ AS x", "it attaches a database for writing that cannot be copied; add READ_ONLY"],
  ["COPY (SELECT 1) TO 'out.csv'", "COPY could overwrite files"],
  ["EXPORT DATABASE 'out'", "EXPORT could overwrite files"],
  ["CREATE PERSISTENT SECRET s (TYPE http)", "a persistent secret is stored in a file"],
  ["CALL postgres_execute('crm', 'DELETE FROM t')", "it calls postgres_execute, which changes a server"],
])("an init with %s is rejected before it runs", async (sql, reason) => {
  await using folder = await folderWith({
    ...PROJECT,
    "eider.yaml": `connections:\n  shop: { init: ${JSON.stringify(sql)} }\n`,
    "pets.test.yaml": PASSING,
  });
  const before = await readdir(folder.path);
  const { code, stdout, stderr } = await run({}, { args: ["test"], cwd: folder.path });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(`eider.yaml:2:11: connections.shop: tests must not change the data itself: ${reason}\n`);
  expect(await readdir(folder.path)).toEqual(before);
});

test("an endpoint that may write files is not called, and its test says why", async () => {
  await using folder = await folderWith({
    ...PROJECT,
    "export.yaml":
      "url-path: /export\nmethod: POST\ntemplate-source: export.sql\nconnection: shop\noperation: { allow: [copy], transaction: false }\n",
    "export.sql": "COPY pets TO 'pets.csv'",
    "export.test.yaml": "endpoint: /export\ntests:\n  - name: a\n    expect: { status: 500 }\n",
  });
  const { code, stdout } = await run({}, { args: ["test", "export"], cwd: folder.path });
  expect(code).toBe(1);
  expect(stdout).toContain(
    "export.test.yaml:3:5: request: POST /export was not run, because tests must not change the data itself: 'operation.allow: copy' lets it change more than the copy of the data\n",
  );
  expect(await readdir(folder.path)).not.toContain("pets.csv");
});

test("snapshots are stored, compared, updated, and not stored in CI", async () => {
  const text = (kind: string): string =>
    `endpoint: GET /pets\ntests:\n  - name: some\n    request: { query: { kind: ${kind} } }\n    expect: { snapshot: true }\n`;
  await using folder = await folderWith({ ...PROJECT, "pets.test.yaml": text("dog") });
  const stored = join(folder.path, "pets.test.snap.json");
  const eiderTest = (args: readonly string[] = [], env = {}) =>
    run({}, { args: ["test", ...args], cwd: folder.path, env });

  const inCi = await eiderTest([], { CI: "true" });
  expect([inCi.code, linesWith(inCi.stdout, "+ ")]).toEqual([1, ["      + none, and none is stored where CI is set"]]);
  expect(await readdir(folder.path)).not.toContain("pets.test.snap.json");

  expect(await eiderTest()).toMatchObject({ code: 0, stdout: expect.stringContaining("(1 of 1 passed, 1 stored)") });
  expect(JSON.parse(await readFile(stored, "utf8"))).toEqual({
    some: { status: 200, body: { data: [{ id: 2, name: "Bo", kind: "dog" }], next: "", total_count: 1 } },
  });
  expect(await eiderTest([], { CI: "true" })).toMatchObject({ code: 0 });

  await writeFile(join(folder.path, "pets.test.yaml"), text("cat"));
  const changed = await eiderTest();
  expect(changed.code).toBe(1);
  expect(changed.stdout).toContain(`    pets.test.yaml:5:25: expect.snapshot.body.data[0].id\n      - 2\n      + 1\n`);
  expect(await eiderTest(["--update"])).toMatchObject({ code: 0 });
  expect(await eiderTest()).toMatchObject({ code: 0, stdout: expect.stringContaining("(1 of 1 passed)") });

  await writeFile(stored, "{");
  expect(linesWith((await eiderTest()).stdout, "- ")).toEqual(["      - stored responses in pets.test.snap.json"]);
});

test("a user passes authentication only with the secret of the run", async () => {
  const files = {
    "eider.yaml":
      "auth: { type: basic, users: [{ username: someone, password: $pbkdf2-sha256$600000$5_gbuT67Vf8Ic0t6HexcOA$3qx2AUSH4UdeqYAUSYCZ-uxKaLaJWZdMh1NKdNQj52o }] }\nconnections: { shop: }\nmcp: {}\n",
    "who.yaml":
      "url-path: /who\ntemplate-source: who.sql\nconnection: shop\nreturns: one\nmcp-tool: { name: who, description: The user }\n",
    "who.sql":
      "SELECT '{{{auth.username}}}' AS name, '{{{auth.roles}}}' AS roles, '{{{auth.groups}}}' AS grps, '{{{auth.email}}}' AS email, '{{{auth.type}}}' AS kind",
    "who.test.yaml": `endpoint: /who
tests:
  - name: by name
    request: { user: anna }
    expect: { first-row: { name: anna, roles: "", kind: basic } }
  - name: by mapping
    request: { user: { username: anna, roles: [a, b], groups: g, email: anna@example.com } }
    expect: { body: { name: anna, roles: "a,b", grps: g, email: anna@example.com, kind: basic } }
  - name: nobody
    expect: { status: 401 }
  - name: guessed
    request: { headers: { Authorization: EiderTest anna } }
    expect: { status: 401 }
`,
    "tool.test.yaml": `tool: who
tests:
  - name: by name
    request: { user: anna }
    expect: { first-row: { name: anna } }
  - name: nobody
    expect: { status: 401 }
`,
  };
  const { code, stdout, stderr } = await runHere(files, { args: ["test"] });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/\n6 passed, 0 failed\n$/), expect.any(String)]);
  expect(code).toBe(0);
});

test("tools are called over MCP, and their descriptions are checked", async () => {
  const tool = (name: string, description: string, more = ""): string =>
    `mcp-tool: { name: ${name}, description: ${description} }\ntemplate-source: pets.sql\nconnection: shop\n${more}`;
  const kind = "request: [{ field-name: kind, field-in: query, description: ";
  const { code, stdout, stderr } = await runHere(
    {
      ...PROJECT,
      "a.yaml": tool(
        "pets_a",
        "Pets",
        "request: [{ field-name: kind, field-in: query, validators: [{ type: string, max: 5 }] }]\n",
      ),
      "b.yaml": tool("pets_b", "pets", `${kind}${"very ".repeat(80)}long }]\n`),
      "c.yaml": tool("pets_c", "word ".repeat(250), `${kind}Kind }]\n`),
      "a.test.yaml": `tool: pets_a
tests:
  - name: cats
    request: { body: { kind: cat } }
    expect: { rows: 2, total-count: 2, first-row: { name: Ada }, columns: [id, name, kind] }
  - name: too long
    request: { body: { kind: elephant } }
    expect: { errors: { kind: String is longer than the maximum allowed length } }
  - name: unknown argument
    request: { body: { size: 1 } }
    expect: { status: 400, errors: { size: Unknown parameter not defined in endpoint configuration } }
  - name: all
    expect: { body: { rows: [], row_count: 0 } }
`,
    },
    { args: ["test"] },
  );
  expect(linesWith(stderr, "error")).toEqual([]);
  expect(code).toBe(1);
  expect(stdout).toContain("FAILED a.test.yaml (3 of 4 passed)\n  all\n");
  expect(linesWith(stdout, ": hint: ")).toEqual([
    "a.yaml:4:11: hint: the parameter 'kind' of the tool 'pets_a' has no description; models guess its meaning",
    "b.yaml:1:27: hint: the tool 'pets_b' has the same description as 'pets_a'; say how they differ",
    "b.yaml:4:48: hint: the description of the parameter 'kind' has 404 characters; at most 300 are read with attention",
    "c.yaml:1:27: hint: the description of the tool 'pets_c' has 1249 characters; at most 1024 are read with attention",
  ]);
});

test("coverage counts each way of a section that can happen, and each call of error()", async () => {
  const files = {
    "eider.yaml": "auth: { type: bearer, token: a-token-that-is-longer-than-32-bytes }\nconnections: { shop: }\n",
    "x.yaml": `url-path: /x/:id
template-source: x.sql
connection: shop
returns: one
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }
  - { field-name: a, field-in: query }
  - { field-name: b, field-in: query, validators: [{ type: string }, { type: enum, allowedValues: [x] }] }
  - { field-name: c, field-in: query, default: d }
`,
    "x.sql": `SELECT {{params.id}} AS id
{{#params.a}}
, 'b{{#params.b}} is {{{params.b}}}{{/params.b}}' AS b
{{/params.a}}
{{^params.a}}, 'no a' AS a{{/params.a}}
{{#params.id}}{{#params.c}}, 'c' AS c{{/params.c}}{{/params.id}}
{{#auth.roles}}, '{{{auth.roles}}}' AS roles{{/auth.roles}}
WHERE CASE {{params.id}} WHEN 1 THEN error('403: not yours') WHEN 2 THEN error('403: it''s gone') ELSE {{params.id}} <> 3 END`,
    "x.test.yaml": `endpoint: /x/:id
tests:
  - name: with a
    request: { path: { id: 5 }, query: { a: 1 }, user: anna }
    expect: { first-row: { id: 5, b: b } }
  - name: not yours
    request: { path: { id: 1 }, query: { a: 1 }, user: anna }
    expect: { status: 403 }
`,
  };
  const { stdout, stderr } = await runHere(files, { args: ["test", "--json"] });
  expect(stderr).toBe("");
  const { passed, coverage } = JSON.parse(stdout);
  expect(passed).toBe(2);
  expect(coverage).toMatchObject({
    "template sections": { covered: 6, total: 10 },
    validators: { covered: 0, total: 2 },
    "declared failures": { covered: 1, total: 3 },
  });
  const missing = coverage.missing.map(
    ({ file, line, message }: { file: string; line: number; message: string }) => `${file}:${line}: ${message}`,
  );
  expect(missing.toSorted()).toEqual([
    "x.sql:2: {{#params.a}} is never left out",
    "x.sql:3: {{#params.b}} is never rendered",
    "x.sql:5: {{^params.a}} is never rendered",
    "x.sql:7: {{#auth.roles}} is never rendered",
    "x.sql:8: error('403: it's gone') never happens",
    "x.yaml:4: 404 (no row) never happens",
    "x.yaml:6: the validator 'int' of 'id' never rejects a value",
    "x.yaml:8: the validator 'enum' of 'b' never rejects a value",
  ]);
});

test("a terminal gets colours and aligned columns", async () => {
  await using folder = await folderWith({ ...PROJECT, "pets.test.yaml": PASSING.replace("rows: 2,", "rows: 1,") });
  const runtime = testRuntime({ cwd: folder.path });
  const stdout = { ...runtime.stdout, isTerminal: true };
  expect(await runCommandLine(["test"], { ...runtime, stdout })).toBe(1);
  expect(runtime.stdoutText()).toContain("\u001b[31mFAILED\u001b[0m pets.test.yaml (3 of 4 passed)");
  expect(runtime.stdoutText()).toContain("      \u001b[32m- 1 rows\u001b[0m\n      \u001b[31m+ 2 rows\u001b[0m\n");
  expect(runtime.stdoutText()).toContain("endpoints          1        2      50%\n");
});

test("JUnit XML and JSON are alone on standard output", async () => {
  const files = {
    ...PROJECT,
    "pets.test.yaml": `endpoint: GET /pets\ntests:\n  - name: a <b> & "c"\n    expect: { rows: 3 }\n  - name: d\n    expect: { first-row: { name: "<Bo>" } }\n`,
  };
  const junit = await run(files, { args: ["test", "--reporter", "junit"] });
  expect(junit.code).toBe(1);
  expect(junit.stdout.replaceAll(/time="[\d.]+"/g, 'time="0"')).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="eider" tests="2" failures="1" errors="0" time="0">
  <testsuite name="pets.test.yaml" tests="2" failures="1" errors="0" time="0">
    <testcase classname="pets.test.yaml" name="a &lt;b&gt; &amp; &quot;c&quot;" file="pets.test.yaml" line="3" time="0"/>
    <testcase classname="pets.test.yaml" name="d" file="pets.test.yaml" line="5" time="0">
      <failure message="expect.first-row.name: expected &quot;&lt;Bo&gt;&quot;, received &quot;Ada&quot;">pets.test.yaml:6:34: expect.first-row.name: expected &quot;&lt;Bo&gt;&quot;, received &quot;Ada&quot;</failure>
    </testcase>
  </testsuite>
</testsuites>
`);
  const json = await runHere(files, { args: ["test", "--json"] });
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    passed: 1,
    failed: 1,
    tests: [
      { name: 'a <b> & "c"', file: "pets.test.yaml", line: 3, passed: true, failures: [] },
      { name: "d", failures: [{ line: 6, key: "expect.first-row.name", expected: '"<Bo>"', received: '"Ada"' }] },
    ],
    coverage: { percent: 25, endpoints: { covered: 1, total: 2 }, "template sections": { covered: 1, total: 2 } },
    hints: [],
  });
});

test.each<[readonly string[], number, string]>([
  [["test", "--coverage-min", "50"], 0, "4 passed, 0 failed\n"],
  [["test", "--coverage-min", "51"], 1, "the coverage is 50%, less than 51%\n"],
  [["test", "lists"], 0, "2 passed, 0 failed\n"],
  [["test", "GET /pets", "--coverage-min", "100"], 0, "4 passed, 0 failed\n"],
  [["test", "nothing"], 1, "no tests found; none contains 'nothing'\n"],
  [["test", "a", "b"], 2, "test takes one pattern; found 'b' too"],
  [["test", "--coverage-min", "most"], 2, "--coverage-min: 'most' is not a percentage; use 0 to 100"],
  [["test", "--reporter", "tap"], 2, "--reporter: 'tap' is not valid; use one of plain, junit, json"],
  [["test", "--watch", "--json"], 2, "--watch prints plain text; remove the reporter"],
])("eider %j exits with %i", async (args, code, text) => {
  const result = await runHere({ ...PROJECT, "pets.test.yaml": PASSING }, { args });
  expect(result.stdout + result.stderr).toContain(text);
  expect(result.code).toBe(code);
});

test("without tests, it says what to write", async () => {
  const { code, stderr } = await runHere(PROJECT, { args: ["test"] });
  expect([code, stderr]).toEqual([1, "no tests found; write them beside an endpoint, in <name>.test.yaml\n"]);
});

test("--watch runs the tests that a change affects", async () => {
  const other =
    "endpoint: POST /pets\ntests:\n  - name: adds\n    request: { body: { id: 4 } }\n    expect: { status: 200 }\n";
  await using program = await startHere(
    { ...PROJECT, "pets.test.yaml": PASSING, "add.test.yaml": other },
    { args: ["test", "--watch"] },
  );
  const runs = (): readonly string[] => program.stdout().split("waiting for changes\n");
  const changes: readonly [file: string, text: string, expected: readonly string[]][] = [
    ["add.test.yaml", other.replace("id: 4", "id: 1"), ["FAILED add.test.yaml"]],
    ["add.sql", "INSERT OR IGNORE INTO pets VALUES ({{params.id}}, 'New', 'dog')", ["ok add.test.yaml"]],
    ["pets.sql", "SELECT 1 AS id", ["FAILED pets.test.yaml"]],
    ["eider.yaml", `${PROJECT["eider.yaml"]}\n# changed\n`, ["ok add.test.yaml", "FAILED pets.test.yaml"]],
  ];
  await until("the first run", () => runs().length > 1);
  expect(linesWith(runs()[0] ?? "", "test.yaml (")).toHaveLength(2);
  for (const [index, [file, text, expected]] of changes.entries()) {
    await writeFile(join(program.folder, file), text);
    await until(`the run after a change of ${file}`, () => runs().length > index + 2);
    const lines = linesWith(runs()[index + 1] ?? "", "test.yaml (").map((line) => line.split(" (")[0]);
    expect([file, lines]).toEqual([file, expected]);
  }
  await writeFile(join(program.folder, "add.test.yaml"), "endpoint: /nowhere\ntests: []\n");
  await until("a problem", () => program.stderr().includes("there is no endpoint '/nowhere'"));
  program.signal("SIGINT");
  expect(await program.exited).toEqual({ code: 0, signal: null });
});
