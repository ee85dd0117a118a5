import { expect, test } from "vitest";
import { answerOf, pageOf, statement, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";

const TABLES = `
  CREATE TABLE t AS SELECT range AS id FROM range(1000);
  CREATE TABLE u AS SELECT range AS id FROM range(1000);
  ATTACH ':memory:' AS other; CREATE TABLE other.o AS SELECT range AS id FROM range(1000)`;
const LIMIT = 10;

async function totalOf({ engine }: TestEngine, sql: string, offset = 0): Promise<number> {
  const { total } = await answerOf(await engine.read(pageOf([statement(sql)], LIMIT, offset)));
  return total ?? Number.NaN;
}

/** Whether a row more, of which the engine is not told, is missing in the total: then it was not counted again. */
async function isCached(t: TestEngine, table: string, sql: string): Promise<boolean> {
  const before = await totalOf(t, sql);
  await t.secretly(`INSERT INTO ${table} VALUES (-1)`);
  return (await totalOf(t, sql)) === before;
}

/** What a query depends on is found out beside its first answer, so not at once. */
async function untilCached(t: TestEngine, table: string, sql: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await isCached(t, table, sql)) return;
    await t.sql(`DELETE FROM ${table} WHERE id = -1`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("the total was counted every time");
}

test("a total is cached until one of its tables is written to", async () => {
  await using t = await testEngine(TABLES);
  const sql = "SELECT id FROM t WHERE id < 900";
  await untilCached(t, "t", sql);
  const known = await totalOf(t, sql);
  await t.sql("INSERT INTO u VALUES (-1)", ["u"]);
  expect(await totalOf(t, sql)).toBe(known);
  // Every page of the query has the same total.
  expect(await totalOf(t, sql, 50)).toBe(known);
  await t.sql("DELETE FROM t WHERE id = -1", ["t"]);
  expect(await totalOf(t, sql)).toBe(900);
});

test.each([
  ["another database", "other.o", "SELECT id FROM other.o"],
  ["chance", "t", "SELECT id FROM t WHERE id + random() < 2000"],
  ["the time", "t", "SELECT id FROM t WHERE now() > TIMESTAMP '2020-01-01'"],
])("a total that depends on %s is counted every time", async (_, table, sql) => {
  await using t = await testEngine(TABLES);
  for (let time = 0; time < 10; time++) {
    expect(await isCached(t, table, sql)).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test("values tell totals apart", async () => {
  await using t = await testEngine(TABLES);
  const below = (value: bigint) => statement("SELECT id FROM t WHERE id < $1", { type: "BIGINT", value });
  for (let round = 0; round < 20; round++) {
    for (const value of [500n, 700n]) {
      const { total } = await answerOf(await t.engine.read(pageOf([below(value)], LIMIT)));
      expect(total).toBe(Number(value));
    }
  }
});

test("during a write no cached total is used", async () => {
  await using t = await testEngine(TABLES);
  const sql = "SELECT id FROM t";
  await untilCached(t, "t", sql);
  await t.sql("DELETE FROM t WHERE id = -1");
  await totalOf(t, sql);
  const written = t.versions.beginWrite(["t"]);
  await t.secretly("INSERT INTO t VALUES (-1)");
  expect(await totalOf(t, sql)).toBe(1001);
  await t.secretly("INSERT INTO t VALUES (-1)");
  expect(await totalOf(t, sql)).toBe(1002);
  written();
  expect(await totalOf(t, sql)).toBe(1002);
});

test("under writers that never rest, every page agrees with its total", async () => {
  await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(100)");
  // Every row says how many there are, so that a total from another snapshot than its page shows.
  const sql = "SELECT (SELECT count(*) FROM t) AS rows FROM t";
  await untilCached(t, "t", sql);
  let writing = true;
  let pages = 0;
  const writer = async (): Promise<void> => {
    for (let write = 0; write < 400; write++) {
      await t.sql("INSERT INTO t VALUES (0)", ["t"]);
      if (write % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 3));
    }
    writing = false;
  };
  const reader = async (): Promise<void> => {
    while (writing) {
      const answer = await answerOf(await t.engine.read(pageOf([statement(sql)], LIMIT)));
      expect(answer.rows.map(([rows]) => rows)).toEqual(answer.rows.map(() => answer.total));
      pages++;
    }
  };
  await Promise.all([writer(), reader(), reader(), reader()]);
  expect(pages).toBeGreaterThan(50);
});
