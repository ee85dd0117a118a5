import { describe, expect, test } from "vitest";
import { readOf, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { integerValue, statement } from "../../../sql/statement.ts";

/** Reads often enough that all that can be remembered about the query is remembered. */
async function readOften(t: TestEngine, sql: string, ...values: readonly number[]) {
  const read = readOf({ statements: [statement(sql, ...values.map(integerValue))] });
  for (let times = 0; times < 4; times++) {
    const rows = await t.engine.read(read);
    // Resolves when it is known which tables the query reads.
    await rows.watch();
    await rows.close();
  }
  return await t.read(read);
}

describe("columns that are remembered follow the tables", () => {
  test.each<[string, string, readonly string[] | undefined]>([
    ["a column is added", "ALTER TABLE orders ADD COLUMN more INTEGER DEFAULT 7", undefined],
    ["a column is renamed", "ALTER TABLE orders RENAME COLUMN name TO label", undefined],
    ["a type changes", "ALTER TABLE orders ALTER COLUMN name TYPE INTEGER USING length(name)", undefined],
    ["a table is replaced", "CREATE OR REPLACE TABLE orders AS SELECT 1 AS id, 2 AS count", undefined],
    ["Eider itself replaces a table", "CREATE OR REPLACE TABLE orders AS SELECT 1 AS id, 2 AS count", ["orders"]],
  ])("%s", async (_, sql, touches) => {
    await using t = await testEngine(
      "CREATE TABLE orders AS SELECT 1 AS id, 'one' AS name; CREATE MACRO all_rows() AS TABLE SELECT * FROM orders",
    );
    for (const source of ["orders", "all_rows()"]) await readOften(t, `SELECT * FROM ${source} WHERE id = $1`, 1);
    if (touches === undefined) await t.sql(sql);
    else {
      const { signal } = new AbortController();
      await t.engine.change({ connections: [], touches, signal }, (run) => run(statement(sql)));
    }
    const fresh = await t.read({ statements: "SELECT * FROM orders" });
    expect(fresh).not.toMatchObject({ columns: ["id", "name"], rows: [[1, "one"]] });
    for (const source of ["orders", "all_rows()"]) {
      expect(await readOften(t, `SELECT * FROM ${source} WHERE id = $1`, 1)).toEqual(fresh);
    }
  });

  test("a view is replaced", async () => {
    await using t = await testEngine("CREATE TABLE t AS SELECT 1 AS id; CREATE VIEW v AS SELECT id FROM t");
    expect((await readOften(t, "SELECT * FROM v WHERE id = $1", 1)).rows).toEqual([[1]]);
    await t.sql("CREATE OR REPLACE VIEW v AS SELECT id, 'x' AS more FROM t");
    expect((await readOften(t, "SELECT * FROM v WHERE id = $1", 1)).rows).toEqual([[1, "x"]]);
  });

  test("a file is replaced by one with other columns", async () => {
    await using t = await testEngine();
    const file = `${process.env["TMPDIR"] ?? "/tmp"}/eider-columns-${process.pid}.csv`;
    await t.secretly(`COPY (SELECT 1 AS id) TO '${file}' (HEADER)`);
    const query = `SELECT * FROM read_csv('${file}') WHERE id = $1`;
    expect((await readOften(t, query, 1)).rows).toEqual([[1]]);
    await t.secretly(`COPY (SELECT 1 AS id, 'x' AS more) TO '${file}' (HEADER)`);
    expect((await readOften(t, query, 1)).rows).toEqual([[1, "x"]]);
  });
});

describe("a query that returned few rows", () => {
  test("returns many", async () => {
    await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(10)");
    const query = "SELECT id FROM t WHERE id >= $1";
    expect((await readOften(t, query, 5)).rows.length).toBe(5);
    await t.sql("INSERT INTO t SELECT range FROM range(10, 100000)");
    expect((await readOften(t, query, 5)).rows.length).toBe(99_995);
    expect((await readOften(t, query, 99_999)).rows).toEqual([[99_999]]);
  });

  test("returns many, as pages with their total", async () => {
    await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(10)");
    const page = async (from: number, offset: number) => {
      const statements = [statement("SELECT id FROM t WHERE id >= $1 ORDER BY id", integerValue(from))];
      const read = readOf({ statements, window: { limit: 3, offset }, totalOf: statements });
      let result = await t.read(read);
      for (let times = 0; times < 4; times++) result = await t.read(read);
      return { total: result.total, rows: result.rows };
    };
    expect(await page(5, 0)).toEqual({ total: 5, rows: [[5], [6], [7]] });
    expect(await page(5, 3)).toEqual({ total: 5, rows: [[8], [9]] });
    await t.sql("INSERT INTO t SELECT range FROM range(10, 50000)");
    expect(await page(5, 3)).toEqual({ total: 49_995, rows: [[8], [9], [10]] });
    expect(await page(49_999, 0)).toEqual({ total: 1, rows: [[49_999]] });
    expect(await page(49_999, 1)).toEqual({ total: 1, rows: [] });
  });

  test("needs more memory than is left, after a statement whose table it reads", async () => {
    let resident = 0;
    const residentBytes = (): number => (resident += 1024 ** 3);
    await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(3000000)", { residentBytes });
    const slow = "SELECT count(*) AS n FROM part a, t b WHERE a.id % 3000 = b.id % 3000";
    const statements = [statement("CREATE TEMP TABLE part AS FROM t WHERE id < 30000"), statement(slow)];
    for (let times = 0; times < 3; times++) expect((await t.read({ statements })).rows).toEqual([[30_000_000]]);
  });

  test("needs more memory than is left: it is read with a limit instead", async () => {
    let resident = 0;
    // Each look at the memory finds more of it taken.
    const residentBytes = (): number => (resident += 1024 ** 3);
    await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(3000000)", { residentBytes });
    const slow = "SELECT count(*) AS n FROM t a, t b WHERE a.id % 3000 = b.id % 3000 AND a.id < $1";
    const results = [];
    for (let times = 0; times < 3; times++) {
      results.push((await t.read({ statements: [statement(slow, integerValue(30_000))] })).rows);
    }
    expect(results).toEqual([[[30_000_000]], [[30_000_000]], [[30_000_000]]]);
    expect(resident).toBeGreaterThan(1024 ** 3);
  });
});
