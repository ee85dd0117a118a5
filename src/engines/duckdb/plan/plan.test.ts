import { expect, test } from "vitest";
import { statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import type { StatementProblem } from "../../engine.ts";

const TABLES = "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, day DATE)";

test.each([
  "SELECT * FROM t WHERE id = $1",
  "SELECT * FROM t WHERE id = $1;",
  "FROM t -- all",
  "INSERT INTO t VALUES ($1, 'x', NULL)",
  "UPDATE t SET name = $1 RETURNING *",
  "DELETE FROM t WHERE id = $1",
  "CREATE TABLE u AS SELECT 1",
  "PRAGMA table_info('t')",
  "CALL pragma_version()",
  "DESCRIBE t",
  "EXPLAIN SELECT $1",
  "SET VARIABLE x = 1",
  "PIVOT t ON name USING count(*)",
  "SELECT $1::INTEGER",
  "SELECT DATE 'not a date'",
])("%s is fine, and is not run", async (sql) => {
  await using t = await testEngine(TABLES);
  const values = sql.includes("$1") ? [{ type: "VARCHAR", value: "1" } as const] : [];
  expect(await t.engine.plan([statement(sql.replace(/;$/, ""), ...values)])).toBeUndefined();
  expect((await t.read({ statements: "SELECT count(*) FROM t" })).rows).toEqual([[0]]);
});

const problems: readonly (readonly [string, StatementProblem["kind"], string, string | undefined])[] = [
  ["SELECT * FRM t t", "syntax", "syntax error", "t t"],
  ["SELECT 1 WHERE", "syntax", "end of input", ""],
  ["SELECT\n  nosuch,\n 1 FROM t", "names", 'column "nosuch"', "nosuch,"],
  ["SELECT '日本😀é', nosuch FROM t", "names", 'column "nosuch"', "nosuch FROM"],
  ["SELECT\t\tnosuch FROM t", "names", 'column "nosuch"', "nosuch FROM"],
  [`SELECT ${"id, ".repeat(60)}nosuch, ${"name, ".repeat(60)}1 FROM t`, "names", 'column "nosuch"', undefined],
  ["SELECT * FROM missing", "names", "missing", "missing"],
  ["SELECT nosuch(1)", "names", "nosuch", "nosuch(1)"],
  ["INSERT INTO t VALUES (1)", "names", "3 columns", undefined],
  ["UPDATE t\nSET nosuch = 1", "names", "nosuch", undefined],
  ["SELECT * FROM t ORDER BY $1", "parameter", "ORDER BY", undefined],
  ["SELECT * FROM $1", "parameter", "$1", "$1"],
  ["SELECT * FROM read_csv('/nowhere/x.csv')", "other", "/nowhere/x.csv", "read_csv"],
  ["SELECT day + $1 FROM t WHERE sum(id) = 1", "names", "aggregates", "sum(id)"],
];

test.each(problems)("%s: %s", async (sql, kind, message, at) => {
  await using t = await testEngine(TABLES);
  const values = sql.includes("$1") ? [{ type: "BIGINT", value: 1n } as const] : [];
  const problem = await t.engine.plan([statement(sql, ...values)]);
  expect(problem).toMatchObject({ kind, statement: 0 });
  expect(problem?.message).toContain(message);
  expect(problem?.message).not.toContain("LINE");
  if (at !== undefined) expect(problem?.offset).toBe(at === "" ? sql.length : sql.indexOf(at));
});

test("leading statements: temporary tables are made without data, others are not run", async () => {
  await using t = await testEngine(TABLES);
  const plan = (...sqls: readonly string[]) => t.engine.plan(sqls.map((sql) => statement(sql)));
  for (const _ of [1, 2]) {
    expect(
      await plan("/* c */ CREATE TEMP TABLE x AS SELECT error('run'), 1 AS a FROM t", "SELECT a FROM x"),
    ).toBeUndefined();
    expect(await plan("CREATE TEMP VIEW x AS SELECT 1 AS a", "SELECT a FROM x")).toBeUndefined();
    expect(await plan("CREATE OR REPLACE TEMPORARY TABLE x (a INT)", "SELECT b FROM x")).toMatchObject({
      kind: "names",
      statement: 1,
    });
  }
  // The rows are not computed either: this would take hours.
  const endless =
    "CREATE TEMP TABLE x AS SELECT r.range AS a FROM range(1e7::BIGINT) r, range(1e7::BIGINT) ORDER BY hash(a)";
  expect(await plan(endless, "SELECT b FROM x")).toMatchObject({ kind: "names", statement: 1 });
  expect(await plan("INSERT INTO t VALUES (1, 'x', NULL)", "SELECT nosuch FROM t")).toBeUndefined();
  expect(await plan("INSERT INTO t VALUES (1, 'x', NULL)", "SELEC 1")).toMatchObject({ kind: "syntax", statement: 1 });
  expect((await t.read({ statements: "FROM t" })).rows).toEqual([]);
});

test.each([
  ["SELECT * FROM nowhere; SELECT 1", undefined],
  ["", undefined],
  ["-- nothing", undefined],
  ["SELECT 1;\nSELEC 2", 10],
])("%j is parsed without any table", async (sql, offset) => {
  await using t = await testEngine();
  expect((await t.engine.parse(sql))?.offset).toBe(offset);
});

test("a thousand statements are planned at once", async () => {
  await using t = await testEngine(TABLES);
  const all = await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      t.engine.plan([statement(`SELECT id, name, ${i} AS k FROM t WHERE id > ${i}`)]),
    ),
  );
  expect(all.every((problem) => problem === undefined)).toBe(true);
});
