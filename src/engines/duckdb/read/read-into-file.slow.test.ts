import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, pageOf, readOf, statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { readParquet } from "../../../../test/suites/parquet-file.ts";
import { RequestFailure } from "../../../failure.ts";
import { openDuckDb } from "../open-duckdb.ts";

const NUMBERS = "CREATE TABLE t AS SELECT range AS id, 'n' || range AS name FROM range(250)";
const timeout = new RequestFailure({ kind: "query-timeout", limitMs: 1 });

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

const newFile = () => ({ kind: "parquet", path: join(folder, `it's-${count++}`) }) as const;

async function written(sql: string) {
  await using t = await testEngine(NUMBERS);
  const file = newFile();
  await t.engine.readIntoFile(readOf({ statements: sql }), file);
  return await readParquet(file.path);
}

test.each([
  { limit: 100, offset: 0, first: "0", rows: 100 },
  { limit: 100, offset: 200, first: "200", rows: 50 },
  { limit: 100, offset: 300, first: undefined, rows: 0 },
  { limit: 0, offset: 0, first: undefined, rows: 0 },
  { limit: 250, offset: 0, first: "0", rows: 250 },
  { limit: 1, offset: 249, first: "249", rows: 1 },
  { limit: 30_000, offset: 240, first: "240", rows: 10 },
])("page $limit, $offset has $rows rows and the total", async ({ limit, offset, first, rows }) => {
  await using t = await testEngine(NUMBERS);
  for (const query of [
    statement("SELECT * FROM t ORDER BY id"),
    statement("SELECT * FROM t WHERE id >= $1 ORDER BY id", { type: "BIGINT", value: 0n }),
    statement("SELECT * FROM t ORDER BY id LIMIT 250 -- all"),
    statement("WITH q AS (FROM t) FROM q ORDER BY id"),
  ]) {
    const file = newFile();
    expect(await t.engine.readIntoFile(pageOf([query], limit, offset), file)).toMatchObject({ total: 250 });
    const read = await readParquet(file.path);
    expect(read.names).toEqual(["id", "name"]);
    expect([read.rows.length, read.rows[0]?.[0]]).toEqual([rows, first]);
  }
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("values are bound, never text; without a total there is none", async () => {
  await using t = await testEngine(NUMBERS);
  const file = newFile();
  const text = "x'; DROP TABLE t; --";
  const query = statement(
    "SELECT $1 AS a, id FROM t WHERE id < $2",
    { type: "VARCHAR", value: text },
    {
      type: "BIGINT",
      value: 2n,
    },
  );
  expect(await t.engine.readIntoFile(readOf({ statements: [query] }), file)).toMatchObject({ total: undefined });
  expect((await readParquet(file.path)).rows).toEqual([
    [text, "0"],
    [text, "1"],
  ]);
  expect((await t.read({ statements: "SELECT count(*) FROM t" })).rows).toEqual([[250]]);
});

test("leading statements run first and leave nothing behind", async () => {
  await using t = await testEngine(NUMBERS, { maxConcurrentQueries: 1 });
  const statements = [
    statement("CREATE TEMP TABLE x AS SELECT * FROM t WHERE id < $1", { type: "BIGINT", value: 30n }),
    statement("CREATE TEMP TABLE y AS PIVOT (SELECT id % 2 AS k FROM x) ON k USING count(*)"),
    statement('SELECT id, (SELECT y."1" FROM y) AS odd FROM x ORDER BY id'),
  ];
  for (const _ of [1, 2]) {
    const file = newFile();
    expect(await t.engine.readIntoFile(pageOf(statements, 10, 20), file)).toEqual({ rows: 10, total: 30 });
    expect((await readParquet(file.path)).rows[0]).toEqual(["20", "15"]);
    expect((await failureOf(t.read({ statements: "FROM x" }))).failure.kind).toBe("query-failed");
  }
});

test("a template that pages itself is counted by its other statement", async () => {
  await using t = await testEngine(NUMBERS);
  const limited = (sql: string, value: bigint | null) => [statement(sql, { type: "BIGINT", value })];
  const leading = (limit: bigint | null) => [
    ...limited("CREATE TEMP TABLE x AS SELECT * FROM t LIMIT $1", limit),
    statement("FROM x"),
  ];
  for (const form of [leading, (limit: bigint | null) => limited("FROM t LIMIT $1", limit)]) {
    const file = newFile();
    const read = readOf({ statements: form(5n), totalOf: form(null) });
    expect(await t.engine.readIntoFile(read, file)).toEqual({ rows: 5, total: 250 });
    expect((await readParquet(file.path)).rows.length).toBe(5);
  }
});

test("rows and total come from one transaction during writes", async () => {
  await using t = await testEngine("CREATE TABLE s AS SELECT range AS n FROM range(10)");
  let writing = true;
  const writer = (async () => {
    while (writing) await t.sql("INSERT INTO s SELECT range FROM range(10)");
  })();
  try {
    for (let i = 0; i < 20; i++) {
      const file = newFile();
      const query = [statement("SELECT (SELECT count(*) FROM s) AS seen FROM s")];
      const { total } = await t.engine.readIntoFile(pageOf(query, 5), file);
      expect((await readParquet(file.path)).rows[0]).toEqual([String(total)]);
    }
  } finally {
    writing = false;
    await writer;
  }
});

test.each([
  ["DESCRIBE t", 2],
  ["SHOW TABLES", 1],
  ["SUMMARIZE t", 2],
  ["VALUES (1, 2), (3, 4)", 2],
  ["PIVOT (SELECT id % 3 AS k FROM t) ON k USING count(*)", 1],
  ["SELECT 1 WHERE false", 0],
])("%s is written", async (sql, rows) => {
  expect((await written(sql)).rows.length).toBe(rows);
});

test.each([
  "PRAGMA table_info('t')",
  "CALL pragma_table_info('t')",
  "EXPLAIN SELECT 1",
  "INSERT INTO t VALUES (1, 'x') RETURNING *",
  "WITH q AS (SELECT 3, 'x') INSERT INTO t FROM q",
])("%s is not available, and not run", async (sql) => {
  await using t = await testEngine(NUMBERS);
  for (const _ of [1, 2]) {
    const file = newFile();
    expect((await failureOf(t.engine.readIntoFile(readOf({ statements: sql }), file))).failure).toEqual({
      kind: "invalid-params",
      errors: [
        { field: "format", message: "Not available as parquet: the last statement of the template is no query" },
      ],
    });
    expect(existsSync(file.path)).toBe(false);
  }
  expect((await t.read({ statements: "SELECT count(*) FROM t" })).rows).toEqual([[250]]);
});

test.each([
  ["SELECT error('403: not yours')", { kind: "refused-by-template", status: 403, message: "not yours" }],
  ["FROM nowhere", { kind: "query-failed", message: expect.stringMatching(/^Catalog Error: Table with name nowhere/) }],
  ["SELECT CAST(name AS INT) FROM t", { kind: "query-failed", message: expect.stringMatching(/^Conversion Error/) }],
  ["SELECT CAST(name AS DECIMAL(38,0)) FROM t", { kind: "query-failed", message: expect.stringContaining('"n0"') }],
])("%s fails as a read does", async (sql, failure) => {
  await using t = await testEngine(NUMBERS);
  expect((await failureOf(t.engine.readIntoFile(readOf({ statements: sql }), newFile()))).failure).toMatchObject(
    failure,
  );
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test.each([0, 1, 5, 60])("a COPY that runs is stopped at once (after %i ms)", async (ms) => {
  await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(1000000)", {
    maxConcurrentQueries: 1,
  });
  for (const sql of ["SELECT a.id FROM t a, t b", "SELECT count(*) FROM t a, t b WHERE (a.id * b.id) % 7 = 3"]) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(timeout), ms);
    const file = newFile();
    const read = { ...readOf({ statements: sql }), signal: controller.signal };
    expect(await failureOf(t.engine.readIntoFile(read, file))).toBe(timeout);
    expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
    expect((await t.read({ statements: "SELECT max(id) FROM t" })).rows).toEqual([[999_999]]);
    await rm(file.path, { force: true });
  }
});

test("a disk that is full, or a folder that is gone, is a failure without the path", async () => {
  await using t = await testEngine(NUMBERS);
  for (const [path, message] of [
    ["/dev/full", 'IO Error: Could not write file "spool": No space left on device'],
    [join(folder, "gone", "x"), 'IO Error: Cannot open file "spool": No such file or directory'],
  ] as const) {
    const { failure } = await failureOf(
      t.engine.readIntoFile(readOf({ statements: "FROM t" }), { kind: "parquet", path }),
    );
    expect(failure).toMatchObject({ kind: "query-failed", message });
  }
});

test("without external access only the folder for files can be written", async () => {
  const options = { path: undefined, connections: [], maxConcurrentQueries: 1, maxQueued: 1 };
  const settings = new Map([
    ["lock_configuration", "true"],
    ["enable_external_access", "false"],
    ["allowed_directories", "['/nowhere']"],
  ]);
  const read = readOf({ statements: "SELECT 1 AS a" });
  const open = await openDuckDb({ ...options, settings, fileFolder: folder });
  await open.readIntoFile(read, newFile());
  const outside = readOf({ statements: `FROM read_text('${import.meta.filename}')` });
  expect((await failureOf(open.read(outside))).failure.kind).toBe("query-failed");
  await open.close();
  const shut = await openDuckDb({ ...options, settings });
  expect((await failureOf(shut.readIntoFile(read, newFile()))).failure).toMatchObject({
    kind: "query-failed",
    message: 'Permission Error: Cannot access file "spool" - file system operations are disabled by configuration',
  });
  await shut.close();
});

test("columns have the names that every format gives them", async () => {
  const { names } = await written('SELECT 1 AS a, 2 AS a, 3 AS "x""y", 4 AS c0');
  expect(names).toEqual(["a", "a_1", 'x"y', "c0"]);
});

test("a file is written at once, under its own name only", async () => {
  await using t = await testEngine(NUMBERS);
  const file = newFile();
  for (const sql of ["FROM t", "FROM t LIMIT 1"]) await t.engine.readIntoFile(readOf({ statements: sql }), file);
  expect((await readParquet(file.path)).rows.length).toBe(1);
  expect(readFileSync(file.path).subarray(-4).toString()).toBe("PAR1");
  expect(readdirSync(folder).filter((name) => name.includes("tmp"))).toEqual([]);
  expect(statSync(file.path).size).toBeGreaterThan(100);
});
