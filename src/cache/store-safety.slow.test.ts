import { describe, expect, test } from "vitest";
import { failureOf, statement } from "../../test/suites/duckdb-engine.ts";
import {
  APPEND,
  definitionOf,
  MERGE,
  ownDefinitionOf,
  type TestStore,
  testStore,
} from "../../test/suites/snapshot-store.ts";
import { RequestFailure } from "../failure.ts";
import type { CacheDefinition, Snapshot } from "./cache.ts";

const SOURCE = "CREATE TABLE src AS SELECT range::INTEGER AS k, range::INTEGER AS c FROM range(1000)";
const never = (): AbortSignal => new AbortController().signal;

/** Everything that a cache consists of, to be compared. */
async function contentOf(s: TestStore): Promise<unknown> {
  return {
    tables: await s.tables(),
    snapshots: await s.store.load(),
    records: await s.store.records(100),
    rows: await s.rows("SELECT count(*), sum(k)::BIGINT FROM cache.s.t"),
  };
}

describe("a refresh that fails leaves everything as it was", () => {
  const broken: readonly [string, CacheDefinition, unknown][] = [
    [
      "an error in the middle of the rows",
      definitionOf("SELECT CASE WHEN k > 990 THEN error('boom') ELSE k END AS k FROM src"),
      "boom",
    ],
    [
      "an error while rows are added",
      definitionOf("SELECT k, c FROM src; SELECT 1", { mode: APPEND }),
      "no column 'c'",
    ],
    [
      "a cursor that does not exist",
      definitionOf("SELECT k FROM src", { mode: APPEND }),
      "no column 'c', which the cache has as its cursor; it has k",
    ],
    [
      "a key that does not exist",
      definitionOf("SELECT c FROM src", { mode: MERGE }),
      "no column 'k', which the cache has as its primary-key; it has c",
    ],
    ["a table that does not exist", definitionOf("SELECT * FROM nowhere"), "nowhere does not exist"],
    ["no statement", definitionOf([]), "The template holds no statement."],
    ["what is no query", definitionOf("SELECT 1; CALL pragma_version()"), "syntax error"],
    ["a query that is not one alone", definitionOf([statement("SELECT 1; SELECT 2")]), "syntax error"],
    ["a statement before that fails", definitionOf("CREATE TEMP TABLE x AS SELECT error('boom'); SELECT 1"), "boom"],
    [
      "rows that go to another database",
      definitionOf("INSERT INTO src VALUES (1, 1); SELECT 1"),
      "Attempting to write",
    ],
    [
      "a template of its own that fails",
      ownDefinitionOf("CREATE TABLE cache.s.other AS SELECT 1; SELECT error('boom')"),
      "boom",
    ],
    [
      "a template of its own that makes nothing",
      ownDefinitionOf("CREATE TABLE cache.s.other AS SELECT 1"),
      "t does not exist",
    ],
  ];
  test.each(broken)("%s", async (_, definition, message) => {
    await using s = await testStore(SOURCE);
    await s.refresh(definitionOf("SELECT k, c FROM src", { mode: definition.mode }));
    const before = await contentOf(s);
    const { failure } = await failureOf(s.refresh(definition));
    expect(failure).toEqual({ kind: "query-failed", message: expect.stringContaining(String(message)) });
    expect(await contentOf(s)).toEqual(before);
    expect(s.t.engine.activity()).toEqual({ running: 0, waiting: 0 });
    expect((await s.refresh(definitionOf("SELECT k FROM src"))).id).toBe(2);
  });

  test.each([0, 3, 20, 100])("one that is interrupted (after %i ms)", async (ms) => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definitionOf("SELECT k FROM src"));
    const before = await contentOf(s);
    const timeout = new RequestFailure({ kind: "query-timeout", limitMs: 1 });
    for (const mode of [{ kind: "full" } as const, MERGE]) {
      const controller = new AbortController();
      const endless = definitionOf("SELECT a.k + b.range AS k, 1 AS c FROM src a, range(100000000) b", { mode });
      const work = failureOf(s.store.refresh(endless, first, controller.signal));
      setTimeout(() => controller.abort(timeout), ms);
      expect(await work).toBe(timeout);
      expect(await contentOf(s)).toEqual(before);
    }
    expect(await failureOf(s.store.refresh(definitionOf("SELECT 1"), first, AbortSignal.abort(timeout)))).toBe(timeout);
  });

  test("one whose template cannot be rendered", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definitionOf("SELECT k FROM src"));
    const refused = new RequestFailure({ kind: "internal" });
    const definition = definitionOf(() => {
      throw refused;
    });
    expect(await failureOf(s.refresh(definition))).toBe(refused);
    expect(await s.store.load()).toEqual([first]);
  });

  test("nothing is seen of one that is not over", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definitionOf("SELECT k FROM src"));
    const controller = new AbortController();
    const slow = definitionOf("SELECT a.k + b.range AS k FROM src a, range(100000000) b");
    const work = failureOf(s.store.refresh(slow, first, controller.signal));
    for (let times = 0; times < 10; times++) {
      expect(await s.rows("SELECT count(*) FROM cache.s.t")).toEqual([[1000]]);
      expect(await s.store.load()).toEqual([first]);
    }
    controller.abort(new RequestFailure({ kind: "cancelled" }));
    expect((await work).failure.kind).toBe("cancelled");
  });

  test("failures are noted, cut to a length, and the newest comes first", async () => {
    await using s = await testStore(SOURCE);
    await s.refresh(definitionOf("SELECT k FROM src"));
    const record = {
      name: { schema: "s", table: "t" },
      mode: "merge",
      status: "error",
      message: "x".repeat(3000),
      rows: undefined,
      snapshot: undefined,
      startedAtMs: s.clock.ms + 1000,
      durationMs: 12.7,
    } as const;
    await s.store.recordFailure(record);
    const [newest, ...others] = await s.store.records(5);
    expect(newest).toEqual({ ...record, message: "x".repeat(2000), durationMs: 13 });
    expect(others.map(({ status }) => status)).toEqual(["ok"]);
    expect(await s.rows("SELECT table_name, mode, status FROM cache.audit.refreshes ORDER BY started ASC")).toEqual([
      ["t", "full", "ok"],
      ["t", "merge", "error"],
    ]);
    await s.t.sql("DROP TABLE cache.audit.refreshes");
    await s.store.recordFailure(record);
  });

  test("records are not kept for ever", async () => {
    await using s = await testStore(SOURCE);
    await s.t.sql(`INSERT INTO cache.audit.refreshes SELECT 's', 'old', 'full', 'ok', NULL, 1, range,
      epoch_ms(range), 1 FROM range(25000)`);
    await s.refresh(definitionOf("SELECT k FROM src"));
    expect(await s.rows("SELECT table_name, count(*) FROM cache.audit.refreshes GROUP BY ALL ORDER BY 1 ASC")).toEqual([
      ["old", 9_999],
      ["t", 1],
    ]);
    expect(await s.rows("SELECT min(snapshot) FROM cache.audit.refreshes WHERE table_name = 'old'")).toEqual([
      [15_001],
    ]);
  });
});

describe("several at the same time", () => {
  test("different caches of one schema, with readers and drops beside them", async () => {
    await using s = await testStore(SOURCE, { maxConcurrentQueries: 8 });
    const names = Array.from({ length: 10 }, (_, index) => ({ schema: "many", table: `t${index}` }));
    const failures: unknown[] = [];
    const live = async (name: Snapshot["name"]): Promise<void> => {
      let previous: Snapshot | undefined;
      for (let round = 0; round < 3; round++) {
        const definition = definitionOf(`SELECT k + ${round} AS k, c FROM src`, { name, mode: APPEND });
        const next = await s.store.refresh(definition, previous, never());
        expect([next.id, next.rows]).toEqual([round + 1, 1000]);
        if (previous !== undefined) await s.store.drop([previous]);
        expect(await s.rows(`SELECT min(k) FROM cache.many.${name.table}`)).toEqual([[round]]);
        previous = next;
      }
    };
    await Promise.all(names.map((name) => live(name).catch((error: unknown) => failures.push(error))));
    expect(failures).toEqual([]);
    expect(await s.tables()).toHaveLength(20);
    expect(await s.store.records(1000)).toHaveLength(30);
  });

  test("the same cache: one after the other, nothing is lost", async () => {
    await using s = await testStore(SOURCE);
    const definition = definitionOf("SELECT k, c FROM src", { mode: APPEND });
    const first = await s.refresh(definition);
    const made = await Promise.all(Array.from({ length: 4 }, () => s.store.refresh(definition, first, never())));
    expect(made.map(({ id }) => id).sort()).toEqual([2, 3, 4, 5]);
    expect(made.map(({ rows }) => rows)).toEqual([1000, 1000, 1000, 1000]);
    expect((await s.store.load()).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("rows of one call", () => {
  const name = { schema: "s", table: "the result" };
  const result = (sql: string, ...before: readonly string[]) => ({
    name,
    connections: [],
    statements: [...before, sql].map((text) => statement(text)),
  });

  test("are put into a table of their own, which is not listed and leaves no record", async () => {
    await using s = await testStore(SOURCE);
    const made = await s.store.materialize(
      result("SELECT a, a FROM x", "CREATE TEMP TABLE x AS SELECT 'é' AS a"),
      never(),
    );
    expect(made).toMatchObject({ name, rows: 1, physicalTable: expect.stringMatching(/^the_result__r_[0-9a-z]{16}$/) });
    expect((await s.t.read({ statements: `FROM cache.s.${made.physicalTable}` })).columns).toEqual(["a", "a_1"]);
    expect([await s.store.load(), await s.store.records(10)]).toEqual([[], []]);
    const other = await s.store.materialize(result("SELECT 1 WHERE false"), never());
    expect(other.rows).toBe(0);
    expect(new Set([made.uid, other.uid, made.physicalTable, other.physicalTable]).size).toBe(4);
    await s.store.drop([made, other, made]);
    expect(await s.tables()).toEqual([]);
  });

  test("values stay beside the query, and a failure leaves nothing", async () => {
    await using s = await testStore(SOURCE);
    const query = {
      name,
      connections: [],
      statements: [statement("SELECT $1 AS x", { type: "DATE", value: "2024-02-29" })],
    };
    const { physicalTable } = await s.store.materialize(query, never());
    expect(await s.rows(`SELECT x::VARCHAR, typeof(x) FROM cache.s.${physicalTable}`)).toEqual([
      ["2024-02-29", "DATE"],
    ]);
    const tables = await s.tables();
    expect((await failureOf(s.store.materialize(result("SELECT error('403: no')"), never()))).failure).toEqual({
      kind: "refused-by-template",
      status: 403,
      message: "no",
    });
    expect(await s.tables()).toEqual(tables);
  });

  test.each([
    ["SELECT range AS a, range::INTEGER AS b FROM range(100000)", 12],
    ["SELECT repeat('é', 50) AS a, repeat('x', 30)::BLOB AS b FROM range(100000)", 100 + 30 + 32],
    ["SELECT [range, range] AS a FROM range(100000, 200000)", 16 + 16],
    ["SELECT {'a': 1, 'b': NULL} AS a, MAP {'k': 1} AS b, 'x'::JSON AS c FROM range(100000) WHERE false", 0],
    ["SELECT 1.5::DECIMAL(9, 2) AS d, 'a'::ENUM('a', 'b') AS e, gen_random_uuid() AS u FROM range(100000)", 36],
  ])("bytes are about what they take: %s", async (sql, width) => {
    await using s = await testStore();
    const { bytes, rows } = await s.store.materialize(result(sql), never());
    expect(bytes - rows * width).toBeLessThan(200_000);
    expect(bytes).toBeGreaterThanOrEqual(rows * width + 16_384);
  });

  test("every type has a size", async () => {
    await using s = await testStore();
    const sql = "SELECT *, {'a': 1}::VARIANT AS va, 'POINT (1 2)'::GEOMETRY AS ge FROM test_all_types()";
    const { rows, bytes } = await s.store.materialize(result(sql), never());
    expect([rows, bytes > 16_384]).toEqual([3, true]);
  });
});

describe("to drop", () => {
  test("takes tables and what is known of them away, never the current one", async () => {
    await using s = await testStore(SOURCE);
    const made: Snapshot[] = [];
    for (let times = 0; times < 3; times++) made.push(await s.refresh(definitionOf("SELECT k FROM src")));
    const [first, second, third] = made;
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were made");
    await expect(s.store.drop([first, third])).rejects.toThrow(
      /^cannot drop snapshot 3 of the cache s\.t: it is the current one$/,
    );
    expect(await s.store.load()).toEqual(made);
    await s.store.drop([]);
    await s.store.drop([first, second]);
    await s.store.drop([second]);
    expect(await s.store.load()).toEqual([third]);
    expect(await s.tables()).toEqual(["t", third.physicalTable]);
    expect((await s.refresh(definitionOf("SELECT k FROM src"))).id).toBe(4);
  });

  test("does not disturb those who still read", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definitionOf("SELECT range AS k FROM range(200000)"));
    await s.refresh(definitionOf("SELECT 1 AS k"));
    const rows = await s.t.engine.read({
      connections: [],
      statements: [statement(`SELECT k FROM cache.s.${first.physicalTable}`)],
      window: undefined,
      totalOf: undefined,
      signal: never(),
    });
    let count = (await rows.next())?.rows ?? 0;
    await s.store.drop([first]);
    for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) count += chunk.rows;
    expect(count).toBe(200_000);
  });
});
