import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Files, folderWith, runHere, run as runProgram } from "./program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
const files: Files = {
  "eider.yaml": `connections:
  db:
    properties: { api_key: hidden-key }
    init: |
      CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY, name VARCHAR);
      INSERT OR IGNORE INTO customers SELECT i, 'c' || i FROM range(1, 1001) t(i);
mcp: {}
duckdb: { db_path: ./shop.duckdb }
cache: { path: ./cache.duckdb }
audit: { enabled: true, path: audit.ndjson, redact: [token] }
`,
  "list.yaml": `url-path: /customers
template-source: list.sql
connection: [db]
request:
  - { field-name: id, field-in: query, validators: [{ type: int }] }
  - { field-name: token, field-in: query }
mcp-tool: { name: find_customers, description: finds customers }
`,
  "list.sql":
    "SELECT name, '{{conn.api_key}}' AS k FROM customers WHERE id < {{params.id}} {{#params.token}}AND name = {{params.token}}{{/params.token}} ORDER BY name",
  "steps.yaml": "url-path: /steps\ntemplate-source: steps.sql\nconnection: [db]\nwith-pagination: false\n",
  "steps.sql": "CREATE TEMP TABLE late AS SELECT * FROM customers WHERE id > 990; SELECT count(*) AS n FROM late",
  "add.yaml": `url-path: /customers
method: POST
operation: { type: Write }
template-source: add.sql
connection: [db]
request:
  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }
`,
  "add.sql": "INSERT INTO customers VALUES ({{params.id}}, 'new'); DELETE FROM customers WHERE id <= 10 RETURNING name",
  "upsert.yaml":
    "url-path: /upsert\nmethod: PUT\noperation: { type: Write }\ntemplate-source: upsert.sql\nconnection: [db]\n",
  "upsert.sql":
    "INSERT INTO customers VALUES (1, 'one') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id",
  "export.yaml":
    "url-path: /export\nmethod: POST\noperation: { type: Write, allow: [copy] }\ntemplate-source: export.sql\nconnection: [db]\n",
  "export.sql": "COPY customers TO 'exported.csv'",
  "totals.yaml": `url-path: /totals
template-source: totals.sql
connection: [db]
with-pagination: false
cache: { table: totals, template-file: refresh.sql, schedule: 1h }
`,
  "totals.sql": `SELECT * FROM ${TABLE}`,
  "refresh.sql": "SELECT count(*) AS n FROM customers",
  "recent.yaml": "url-path: /recent\ntemplate-source: recent.sql\nconnection: [db]\ncache: { schedule: 1m }\n",
  "recent.sql": "SELECT * FROM customers WHERE id > 995",
};

interface Report {
  readonly statements: readonly {
    readonly sql: string;
    readonly values: readonly string[];
    readonly plan: { readonly operator: string; readonly children: readonly unknown[]; readonly rows?: number } | null;
    readonly reason: string | null;
    readonly ms: number | null;
    readonly pushedDown: readonly unknown[];
  }[];
  readonly caches: readonly unknown[];
  readonly times: Readonly<Record<string, number>>;
}

const explain = (cwd: string, ...args: readonly string[]) => runHere({}, { args: ["explain", ...args], cwd });
const reportOf = async (cwd: string, ...args: readonly string[]): Promise<Report> => {
  const { stdout, stderr } = await explain(cwd, ...args, "--json");
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Report;
};
const operatorsOf = (plan: unknown): readonly string[] => {
  const { operator, children } = plan as { operator: string; children: unknown[] };
  return [operator, ...children.flatMap(operatorsOf)];
};

/** The program runs in the folder of the project, because the project has relative paths in SQL. */
const inFolder = (cwd: string, ...args: readonly string[]) => runProgram({}, { args: [...args], cwd });

describe("eider explain", () => {
  test("shows SQL with placeholders, values beside them, the plan, what is pushed down, and times", async () => {
    await using folder = await folderWith(files);
    const { code, stdout } = await explain(folder.path, "/customers", "id=42", "limit=3");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GET \/customers \(list\.yaml\)\nengine: duckdb; connections: db\n/);
    expect(stdout).toMatch(/statement:\n {2}SELECT name, .* WHERE id < \$1 {2}ORDER BY name\nvalues:\n {2}\$1 = 42\n/);
    expect(stdout).toMatch(/plan:\n(?:.*\n)+.*TOP_N .*Top: 3/);
    expect(stdout).toMatch(/ SEQ_SCAN \(~\d+ estimated\).*\npushed down:\n {2}SEQ_SCAN shop\.main\.customers: id<42\n/);
    expect(stdout).toMatch(/times: open \S+ ms, validate \S+ ms, prepare \S+ ms, render \S+ ms, plan \S+ ms\n$/);
    const tool = await reportOf(folder.path, "find_customers", "id=42");
    expect(tool).toMatchObject({ endpoint: "GET /customers", engine: "duckdb", connections: ["db"], caches: [] });
  });

  test("secrets of connections and redacted values are not shown", async () => {
    await using folder = await folderWith(files);
    const { code, stdout, stderr } = await explain(folder.path, "/customers", "id=42", "token=swordfish");
    expect([code, stdout]).toEqual([0, expect.stringContaining("$2 = [redacted]")]);
    expect(stdout + stderr).not.toMatch(/swordfish|hidden-key/);
    expect(stdout).not.toContain("id<42");
  });

  test("--analyze shows rows and times", async () => {
    await using folder = await folderWith(files);
    const [statement] = (await reportOf(folder.path, "/customers", "id=42", "limit=3", "--analyze")).statements;
    expect(statement).toMatchObject({ plan: { rows: 3, ms: expect.any(Number) }, ms: expect.any(Number) });
  });

  test("filters of a Parquet file are pushed down to it", async () => {
    await using folder = await folderWith({
      "eider.yaml": `connections: { db: { init: "COPY (SELECT i AS id FROM range(10000) t(i)) TO 'x.parquet'" } }\n`,
      "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\n",
      "x.sql": "SELECT * FROM 'x.parquet' WHERE id > 9990",
    });
    const { stdout } = await inFolder(folder.path, "explain", "/x", "--analyze", "--json");
    const { statements } = JSON.parse(stdout) as Report;
    expect(statements[0]?.pushedDown).toEqual([
      { scan: expect.stringMatching(/^PARQUET_SCAN .*x\.parquet$/), filters: ["id>9990"] },
    ]);
    expect(statements[0]?.plan).toMatchObject({ rows: 9, operator: "PARQUET_SCAN" });
  });

  test("each of several statements has its plan", async () => {
    await using folder = await folderWith(files);
    for (const args of [[], ["--analyze"]]) {
      const { statements } = await reportOf(folder.path, "/steps", ...args);
      expect(statements.map(({ plan }) => operatorsOf(plan)[0])).toEqual([
        expect.stringMatching(/CREATE_TABLE_AS/),
        expect.stringMatching(/AGGREGATE|PROJECTION/),
      ]);
    }
  });

  test("a write is not run, and with --analyze it is rolled back", async () => {
    await using folder = await folderWith(files);
    const planned = await reportOf(folder.path, "POST", "/customers", "id=2000");
    expect(
      planned.statements.map(({ plan, ms, values }) => [operatorsOf(plan).includes("INSERT"), ms, values]),
    ).toEqual([
      [true, null, ["2000"]],
      [false, null, []],
    ]);
    const analyzed = await reportOf(folder.path, "POST /customers", "id=2000", "--analyze");
    expect(analyzed.statements.map(({ ms }) => typeof ms)).toEqual(["number", "number"]);
    expect(analyzed.statements[1]?.plan).toMatchObject({ rows: 10 });
    const counted = await runHere({}, { args: ["call", "/customers", "id=3000", "limit=1"], cwd: folder.path });
    expect(JSON.parse(counted.stdout)).toMatchObject({ total_count: 1000 });
  });

  test("a write that cannot be rolled back is not analyzed", async () => {
    await using folder = await folderWith(files);
    const refused = await inFolder(folder.path, "explain", "/export", "--analyze");
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(
      /--analyze would change data that cannot be rolled back: it reaches beyond its data \(COPY/,
    );
    expect((await inFolder(folder.path, "explain", "/export")).code).toBe(0);
    expect(existsSync(join(folder.path, "exported.csv"))).toBe(false);
  });

  test("a statement that DuckDB cannot explain has a reason instead of a plan", async () => {
    await using folder = await folderWith(files);
    const { stdout, code } = await inFolder(folder.path, "explain", "PUT /upsert");
    expect([code, stdout]).toEqual([0, expect.stringContaining("plan:\n  none: DuckDB cannot explain MERGE")]);
  });

  test("the state of a cache is shown, and an empty one is not filled", async () => {
    await using folder = await folderWith(files);
    const empty = await reportOf(folder.path, "/totals");
    expect(empty).toMatchObject({
      caches: [{ table: "cache.totals", mode: "full", state: "empty", rows: null, ageSeconds: null }],
      statements: [{ plan: null, reason: "its cache table is empty or stale, and the next call refreshes it first" }],
    });
    expect((await reportOf(folder.path, "/totals")).caches).toMatchObject([{ state: "empty" }]);
    expect((await reportOf(folder.path, "/totals", "--analyze")).statements).toMatchObject([{ plan: { rows: 1 } }]);
    expect(await reportOf(folder.path, "/totals")).toMatchObject({
      caches: [{ state: "filled", rows: 1, ageSeconds: expect.any(Number), nextRefresh: expect.stringMatching(/Z$/) }],
      statements: [{ plan: { operator: expect.stringMatching(/SCAN/) } }],
    });
    expect(await reportOf(folder.path, "/recent")).toMatchObject({
      caches: [{ mode: "results", state: "empty" }],
      statements: [{ plan: { operator: expect.any(String) } }],
    });
  });

  test("a call that would fail says so", async () => {
    await using folder = await folderWith(files);
    const { code, stderr } = await explain(folder.path, "/customers", "id=x");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/the call fails with 400: .*"field":"id"/)]);
    expect(await explain(folder.path, "/nothing")).toMatchObject({ code: 2 });
    expect(await explain(folder.path, "POST /customers", "-")).toMatchObject({ code: 2 });
  });
});
