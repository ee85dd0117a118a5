import { expect, test } from "vitest";
import { statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";

const TABLE = { catalog: "cache", schema: "shop", tables: ["totals"] };
const plan = async (t: Awaited<ReturnType<typeof testEngine>>, ...sqls: readonly string[]) =>
  t.engine.plan(sqls.map((sql) => statement(sql)));

test("a table that does not exist has the columns of its query", async () => {
  await using t = await testEngine("CREATE TABLE totals (other INTEGER)");
  const rows = statement("SELECT 1::BIGINT AS n, NULL AS nothing, {a: 1, b: ['x']} AS s, 2 AS N, $1 AS v", {
    type: "VARCHAR",
    value: "x",
  });
  expect(await t.engine.assumeTable(TABLE, [rows])).toEqual([
    { name: "n", type: "BIGINT" },
    { name: "nothing", type: "INTEGER" },
    { name: "s", type: "STRUCT(a INTEGER, b VARCHAR[])" },
    { name: "N_1", type: "INTEGER" },
    { name: "v", type: "VARCHAR" },
  ]);
  for (const sql of [
    "SELECT n, s.b[1] FROM cache.shop.totals",
    'SELECT TOTALS.n FROM "cache" /* c */ . Shop\n.totals',
    "SELECT cache.shop.totals.n, shop.totals.n FROM cache.shop.totals",
    // The table of the same name in the database is another one.
    "SELECT o.other, c.n FROM totals o, cache.shop.totals c",
    "WITH x AS (SELECT 'cache.shop.totals' AS n) SELECT * FROM x JOIN cache.shop.totals USING (n)",
  ]) {
    expect([sql, await plan(t, sql)]).toEqual([sql, undefined]);
  }
  expect(await t.engine.describe([statement("SELECT n FROM cache.shop.totals")])).toMatchObject([{ name: "n" }]);
});

test("problems have their place in the original statement", async () => {
  await using t = await testEngine();
  await t.engine.assumeTable(TABLE, [statement("SELECT 1 AS n")]);
  for (const sql of [
    "SELECT nosuch FROM cache.shop.totals",
    "SELECT n FROM cache.shop.totals WHERE nosuch > 1",
    "SELECT a.n FROM cache.shop.totals AS a JOIN cache.shop.totals AS b ON a.n = b.n\n WHERE a.n + nosuch > 1",
  ]) {
    expect([sql, await plan(t, sql)]).toMatchObject([sql, { kind: "names", offset: sql.indexOf("nosuch") }]);
  }
  expect((await plan(t, "SELECT n FROM cache.shop.other"))?.message).not.toContain("assumed");
  expect((await plan(t, "DROP TABLE cache.shop.totals", "SELECT n FROM cache.shop.totals"))?.message).not.toContain(
    "assumed",
  );
});

test.each([
  ["CREATE OR REPLACE TABLE cache.shop.totals AS SELECT error('run') AS n", "INSERT INTO cache.shop.totals SELECT 'x'"],
  ["CREATE TABLE IF NOT EXISTS cache.shop.totals (m VARCHAR)", "ALTER TABLE cache.shop.totals RENAME m TO n"],
  [
    "CREATE SCHEMA IF NOT EXISTS shop",
    "CREATE TABLE IF NOT EXISTS cache.shop.totals (n VARCHAR PRIMARY KEY)",
    "INSERT INTO cache.shop.totals VALUES ('x') ON CONFLICT (n) DO NOTHING",
  ],
  ["CREATE TEMP TABLE x AS SELECT 'x' AS n", "CREATE TABLE cache.shop.totals AS FROM x"],
])("statements that fill it themselves are not run: %s", async (...sqls) => {
  await using t = await testEngine();
  const rows = [...sqls, "SELECT * FROM cache.shop.totals"].map((sql) => statement(sql));
  for (const _ of [1, 2]) {
    expect(await t.engine.assumeTable(TABLE, rows)).toMatchObject([{ name: "n" }]);
    expect(await plan(t, ...sqls)).toBeUndefined();
  }
});

test("one whose columns are unknown is not assumed", async () => {
  await using t = await testEngine("CREATE TABLE sales AS SELECT 'a' AS k, 1 AS v");
  expect(await t.engine.assumeTable(TABLE, [statement("PIVOT sales ON k USING sum(v)")])).toBeUndefined();
  expect(await t.engine.assumeTable(TABLE, [statement("SELECT nosuch FROM sales")])).toBeUndefined();
});

test("of one that exists, columns can be assumed again", async () => {
  await using t = await testEngine();
  await t.engine.attach(
    "cache",
    "ATTACH ':memory:' AS cache; CREATE SCHEMA cache.shop; CREATE VIEW cache.shop.totals AS SELECT 1 AS n",
  );
  expect(await t.engine.assumeTable(TABLE, [statement("SELECT * FROM cache.shop.totals")])).toEqual([
    { name: "n", type: "INTEGER" },
  ]);
});
