import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answerOf,
  pageOf,
  readOf,
  statement,
  type TestEngine,
  testEngine,
} from "../../../../test/suites/duckdb-engine.ts";
import { integerValue } from "../../../sql/statement.ts";
import type { Read } from "../../engine.ts";
import { openReadAhead } from "./read-ahead.ts";

const SETUP = "CREATE TABLE t AS SELECT range AS id, 'name ' || range AS name FROM range(10000)";
const QUERY = [statement("SELECT id, name FROM t WHERE id >= $1 ORDER BY id", integerValue(100))];

/** Reads ahead over an engine, and counts what is read. */
function counted(t: TestEngine) {
  const windows: Read["window"][] = [];
  const ahead = openReadAhead({
    read(read) {
      windows.push(read.window);
      return t.engine.read(read);
    },
    isWatched: () => true,
  });
  return {
    windows,
    async page(read: Read) {
      const rows = await ahead.read(read);
      return rows && (await answerOf(rows));
    },
  };
}

describe("a part of several pages", () => {
  test("is read once, at the second page", async () => {
    await using t = await testEngine(SETUP);
    const { windows, page } = counted(t);
    expect(await page(pageOf(QUERY, 100))).toBeUndefined();
    for (let offset = 100; offset < 1_500; offset += 100) {
      const found = await page(pageOf(QUERY, 100, offset));
      expect([found?.total, found?.rows.length, found?.rows[0]]).toEqual([
        9_900,
        100,
        [offset + 100, `name ${offset + 100}`],
      ]);
    }
    expect(windows).toEqual([{ limit: 2048, offset: 0 }]);
  });

  test("is any page, as the database would return it", async () => {
    await using t = await testEngine(SETUP);
    const { page } = counted(t);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 11_000 }), fc.integer({ min: 0, max: 500 }), async (offset, limit) => {
        const found = await page(pageOf(QUERY, limit, offset));
        const ids = Array.from({ length: 10_000 }, (_, id) => id).slice(100 + offset, 100 + offset + limit);
        expect(found).toEqual({ columns: ["id", "name"], total: 9_900, rows: ids.map((id) => [id, `name ${id}`]) });
      }),
      { numRuns: 200 },
    );
  });

  test("is read again after a change of its tables", async () => {
    await using t = await testEngine(SETUP);
    const { windows, page } = counted(t);
    await page(pageOf(QUERY, 10, 10));
    await t.sql("DELETE FROM t WHERE id < 200", ["t"]);
    expect(await page(pageOf(QUERY, 1, 10))).toMatchObject({ total: 9_800, rows: [[210, "name 210"]] });
    await t.sql("CREATE TABLE other AS SELECT 1 AS id", ["other"]);
    expect(await page(pageOf(QUERY, 1, 11))).toMatchObject({ total: 9_800, rows: [[211, "name 211"]] });
    expect(windows.length).toBe(2);
  });

  test("is not another query's, nor that of other values or without a total", async () => {
    await using t = await testEngine(SETUP);
    const { windows, page } = counted(t);
    const other = [statement("SELECT id, name FROM t WHERE id >= $1 ORDER BY id", integerValue(200))];
    expect(await page(pageOf(QUERY, 1, 10))).toMatchObject({ total: 9_900, rows: [[110, "name 110"]] });
    expect(await page(pageOf(other, 1, 10))).toMatchObject({ total: 9_800, rows: [[210, "name 210"]] });
    const uncounted = readOf({ statements: QUERY, window: { limit: 1, offset: 10 } });
    expect(await page(uncounted)).toMatchObject({ total: undefined, rows: [[110, "name 110"]] });
    expect(windows.length).toBe(3);
  });

  test("is not kept if its rows are long, or if their changes cannot be detected", async () => {
    await using t = await testEngine(
      "CREATE TABLE t AS SELECT range AS id, repeat('x', 2000) AS text FROM range(5000)",
    );
    const { windows, page } = counted(t);
    const long = [statement("SELECT id, text FROM t ORDER BY id")];
    expect([await page(pageOf(long, 1, 10)), await page(pageOf(long, 1, 11))]).toEqual([undefined, undefined]);
    const timed = [statement("SELECT id, now() AS now FROM t ORDER BY id")];
    expect([await page(pageOf(timed, 1, 10)), await page(pageOf(timed, 1, 11))]).toEqual([undefined, undefined]);
    expect(windows.length).toBe(2);
  });
});

test("pages of the engine", async () => {
  await using t = await testEngine(SETUP);
  const page = async (offset: number) => answerOf(await t.engine.read(pageOf(QUERY, 10, offset)));
  for (let times = 0; times < 3; times++) {
    for (const offset of [0, 10, 20, 1_540, 1_550, 9_895]) {
      const { total, rows } = await page(offset);
      expect([total, rows.length, rows[0]?.[0]]).toEqual([9_900, Math.min(10, 9_900 - offset), offset + 100]);
      await (await t.engine.read(pageOf(QUERY, 10, offset))).watch();
    }
  }
  await t.sql("UPDATE t SET name = 'changed'", ["t"]);
  expect((await page(10)).rows[0]).toEqual([110, "changed"]);
});
