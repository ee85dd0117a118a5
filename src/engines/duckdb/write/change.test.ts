import { expect, test } from "vitest";
import { failureOf, readOf, statement, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Change, TextRows } from "../../embedded-engine.ts";

const never = (): AbortSignal => new AbortController().signal;
const timeout = new RequestFailure({ kind: "query-timeout", limitMs: 1 });

function changeOf(change: Partial<Change> = {}): Change {
  return { connections: [], touches: ["t"], signal: never(), ...change };
}

/** Runs statements one after the other and gives the rows of the last. */
function changing(
  { engine }: TestEngine,
  statements: readonly string[],
  change: Partial<Change> = {},
): Promise<TextRows> {
  return engine.change(changeOf(change), async (run) => {
    let rows: TextRows = [];
    for (const sql of statements) rows = await run(statement(sql));
    return rows;
  });
}

async function countOf(t: TestEngine, table = "t"): Promise<unknown> {
  return (await t.read({ statements: `SELECT count(*) FROM ${table}` })).rows[0]?.[0];
}

const TABLE = "CREATE TABLE t AS SELECT range::INTEGER AS x FROM range(10)";

test("what work did is committed together, and its value comes back", async () => {
  await using t = await testEngine(TABLE);
  const value = await t.engine.change(changeOf(), async (run) => {
    const [[before] = []] = await run(statement("SELECT count(*)::VARCHAR FROM t"));
    await run(statement("INSERT INTO t VALUES ($1), ($2)", int(10), int(11)));
    // Other transactions do not see it yet.
    expect(await countOf(t)).toBe(10);
    await run(statement("DELETE FROM t WHERE x = 0"));
    return { before };
  });
  expect(value).toEqual({ before: "10" });
  expect(await countOf(t)).toBe(11);
});

test("rows are texts, and NULL is null", async () => {
  await using t = await testEngine();
  const rows = await changing(t, ["SELECT * FROM (VALUES ('é', NULL), (repeat('x', 20), '')) v ORDER BY 1 DESC"]);
  expect(rows).toEqual([
    ["é", null],
    ["x".repeat(20), ""],
  ]);
  expect(await changing(t, ["CREATE TABLE u (a INT)"], { touches: ["u"] })).toEqual([]);
});

test("statements whose rows are no texts have none", async () => {
  await using t = await testEngine(TABLE);
  expect(await changing(t, ["SELECT x, 'text' FROM t"])).toEqual([]);
  expect(await changing(t, ["UPDATE t SET x = 1 RETURNING x"])).toEqual([]);
  expect(await changing(t, ["DELETE FROM t"])).toEqual([]);
  expect(await countOf(t)).toBe(0);
});

test("what work throws comes out as it is, and nothing of it stays", async () => {
  await using t = await testEngine(TABLE);
  for (const thrown of [new TypeError("mine"), new RequestFailure({ kind: "not-found" }), "text", undefined]) {
    const work = t.engine.change(changeOf(), async (run) => {
      await run(statement("CREATE TABLE u AS SELECT 1 AS a"));
      await run(statement("DELETE FROM t"));
      throw thrown;
    });
    expect(
      await work.then(
        () => "no error",
        (error: unknown) => ({ error }),
      ),
    ).toEqual({ error: thrown });
    expect(await countOf(t)).toBe(10);
    expect((await failureOf(t.read({ statements: "FROM u" }))).failure.kind).toBe("query-failed");
    expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
  }
});

test("an error of the database is a failure, and nothing stays", async () => {
  await using t = await testEngine(TABLE);
  const { failure } = await failureOf(changing(t, ["DELETE FROM t", "SELECT error('boom')"]));
  expect(failure).toEqual({ kind: "query-failed", message: "Invalid Input Error: boom" });
  const refused = await failureOf(changing(t, ["DELETE FROM t", "SELECT error('403: not yours')"]));
  expect(refused.failure).toEqual({ kind: "refused-by-template", status: 403, message: "not yours" });
  expect(await countOf(t)).toBe(10);
});

test("work may go on after a name that is not there", async () => {
  await using t = await testEngine(TABLE);
  await t.engine.change(changeOf(), async (run) => {
    const { failure } = await failureOf(run(statement("SELECT 1 FROM nowhere")));
    expect(failure).toMatchObject({ kind: "query-failed", message: expect.stringContaining("nowhere does not exist") });
    await run(statement("INSERT INTO t VALUES (10)"));
  });
  expect(await countOf(t)).toBe(11);
});

test.each([0, 5, 60])("its signal interrupts it (after %i ms), and nothing stays", async (ms) => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1 });
  const controller = new AbortController();
  const endless = "INSERT INTO t SELECT sum(a.range * b.range) % 7 FROM range(10000000) a, range(10000000) b";
  const work = failureOf(changing(t, ["DELETE FROM t", endless], { signal: controller.signal }));
  setTimeout(() => controller.abort(timeout), ms);
  expect(await work).toBe(timeout);
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
  expect(await countOf(t)).toBe(10);
});

test("one that is aborted before its commit is rolled back", async () => {
  await using t = await testEngine(TABLE);
  const controller = new AbortController();
  const work = t.engine.change(changeOf({ signal: controller.signal }), async (run) => {
    await run(statement("DELETE FROM t"));
    controller.abort(timeout);
  });
  expect(await failureOf(work)).toBe(timeout);
  expect(await countOf(t)).toBe(10);
});

test("conflicts with others are tried again from the beginning", async () => {
  await using t = await testEngine("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)");
  let attempts = 0;
  const add = (): Promise<void> =>
    t.engine.change(changeOf(), async (run) => {
      attempts++;
      const [[n] = []] = await run(statement("SELECT n::VARCHAR FROM t"));
      await run(statement("UPDATE t SET n = $1", int(Number(n) + 1)));
    });
  await Promise.all(Array.from({ length: 20 }, add));
  expect((await t.read({ statements: "SELECT n FROM t" })).rows).toEqual([[20]]);
  // Else nothing was in the way of anything.
  expect(attempts).toBeGreaterThan(20);
});

test("a conflict that work hides is tried again all the same", async () => {
  await using t = await testEngine("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)");
  let attempts = 0;
  await t.engine.change(changeOf(), async (run) => {
    attempts++;
    await run(statement("SELECT n::VARCHAR FROM t"));
    if (attempts === 1) await t.sql("UPDATE t SET n = 5", ["t"]);
    await run(statement("UPDATE t SET n = n + 1")).catch(() => {});
  });
  expect(attempts).toBe(2);
  expect((await t.read({ statements: "SELECT n FROM t" })).rows).toEqual([[6]]);
});

test("it reads what it has written, though it has asked the same before", async () => {
  await using t = await testEngine(TABLE);
  const large = "SELECT count(*)::VARCHAR FROM t WHERE x > 100";
  // The plan of it, made now, finds nothing at all.
  expect(await changing(t, [large])).toEqual([["0"]]);
  expect(await changing(t, ["INSERT INTO t VALUES (200)", large])).toEqual([["1"]]);
  expect(await changing(t, [large, "INSERT INTO t VALUES (200)", large, "UPDATE t SET x = 300", large])).toEqual([
    ["12"],
  ]);
  const copy = "INSERT INTO t SELECT x + 1000 FROM t WHERE x > 1000";
  expect(await changing(t, [copy, "INSERT INTO t VALUES (1001)", copy, large])).toEqual([["14"]]);
});

test("temporary things do not outlive it", async () => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1 });
  const statements = [
    "CREATE TEMP TABLE u AS FROM t",
    "CREATE TEMP MACRO twice(a) AS a * 2",
    "INSERT INTO t SELECT twice(x) FROM u",
    "CREATE OR REPLACE TABLE p AS PIVOT t ON x % 2 USING count(*)",
  ];
  for (const rows of [20, 40, 80]) {
    await changing(t, statements, { touches: ["t", "p"] });
    expect(await countOf(t)).toBe(rows);
    expect((await failureOf(t.read({ statements: "FROM u" }))).failure.kind).toBe("query-failed");
  }
});

/** Rows that are read, and a way to ask whether they would be the same. */
async function watched(t: TestEngine, sql: string): Promise<() => boolean> {
  for (let tries = 0; tries < 3; tries++) {
    const rows = await t.engine.read(readOf({ statements: sql }));
    const data = await rows.watch();
    await rows.close();
    if (data !== undefined) return data.isUnchanged;
  }
  throw new Error("it is not watched");
}

test("what is cached of tables that it touches is dropped, of others it is not", async () => {
  await using t = await testEngine(
    `${TABLE}; CREATE TABLE other AS FROM t; CREATE VIEW seen AS SELECT x FROM t; CREATE TABLE t2 AS SELECT 1 AS x`,
  );
  const [mine, others, seen] = [
    await watched(t, "SELECT x FROM t"),
    await watched(t, "SELECT x FROM other"),
    await watched(t, "SELECT x FROM seen"),
  ];
  expect([mine(), others(), seen()]).toEqual([true, true, true]);
  await changing(t, ["SELECT x::VARCHAR FROM t"], { touches: [] });
  await changing(t, ["INSERT INTO t VALUES (1)", "SELECT error('no')"]).catch(() => {});
  expect([mine(), others(), seen()]).toEqual([true, true, true]);
  await t.engine.change(changeOf({ touches: ["T"] }), async (run) => {
    await run(statement("INSERT INTO t VALUES (1)"));
    expect(mine()).toBe(true);
  });
  expect([mine(), others(), seen()]).toEqual([false, true, false]);
  await changing(t, ["CREATE OR REPLACE VIEW seen AS SELECT x FROM t2"], { touches: ["seen"] });
  expect((await t.read({ statements: "SELECT x FROM seen" })).rows).toEqual([[1]]);
  expect(others()).toBe(true);
});

test("a view that is swapped is seen by statements with values, too", async () => {
  await using t = await testEngine(
    "ATTACH ':memory:' AS c; CREATE TABLE c.a AS SELECT 1 AS x; CREATE VIEW c.v AS FROM c.main.a",
  );
  await t.engine.attach("c", "SELECT 1");
  const read = readOf({ statements: [statement("SELECT x FROM c.v WHERE x > $1", int(0))] });
  expect((await t.read(read)).rows).toEqual([[1]]);
  await changing(
    t,
    [
      "CREATE TABLE c.main.b AS SELECT 2 AS x",
      "CREATE OR REPLACE VIEW c.main.v AS FROM c.main.b",
      "DROP TABLE c.main.a",
    ],
    { touches: ["a", "b", "v"] },
  );
  expect((await t.read(read)).rows).toEqual([[2]]);
});

test("a database that is attached is known to be ours", async () => {
  await using t = await testEngine();
  await t.engine.attach("c", "ATTACH ':memory:' AS c");
  await changing(t, ["CREATE TABLE c.main.t AS SELECT 1 AS x"]);
  const watch = await watched(t, "SELECT x FROM c.t");
  expect(watch()).toBe(true);
  await changing(t, ["UPDATE c.main.t SET x = 2"]);
  expect(watch()).toBe(false);
  await expect(t.engine.attach("d", "ATTACH '/nowhere/at/all.db' AS d")).rejects.toThrow(
    expect.objectContaining({ name: "EngineOpenError" }),
  );
});

test("nothing begins once the engine closes", async () => {
  const t = await testEngine(TABLE);
  const running = failureOf(
    changing(t, ["INSERT INTO t SELECT sum(a.range * b.range) % 7 FROM range(10000000) a, range(10000000) b"]),
  );
  await t[Symbol.asyncDispose]();
  expect((await running).failure.kind).toBe("draining");
  expect((await failureOf(changing(t, ["SELECT 1"]))).failure.kind).toBe("draining");
});

function int(value: number): { readonly type: "BIGINT"; readonly value: bigint } {
  return { type: "BIGINT", value: BigInt(value) };
}

test("a view over a view that is swapped", async () => {
  await using t = await testEngine(
    "ATTACH ':memory:' AS c; CREATE TABLE c.ord__1 AS SELECT 1 AS x; CREATE VIEW c.ord AS FROM c.main.ord__1; CREATE VIEW v AS FROM c.main.ord",
  );
  await t.engine.attach("c", "SELECT 1");
  for (const n of [2, 3, 4]) {
    const watch = await watched(t, "SELECT x FROM v");
    expect(watch()).toBe(true);
    await changing(
      t,
      [
        `CREATE TABLE c.main.ord__${n} AS SELECT ${n} AS x`,
        `CREATE OR REPLACE VIEW c.main.ord AS FROM c.main.ord__${n}`,
      ],
      { touches: ["ord", `ord__${n}`, `ord__${n - 1}`] },
    );
    expect(watch()).toBe(false);
    expect((await t.read({ statements: "SELECT x FROM v" })).rows).toEqual([[n]]);
  }
});
test("write: temporary, and its own rows", async () => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1 });
  const write = (...sql: string[]) =>
    t.engine.write({
      connections: [],
      statements: sql.map((s) => statement(s)),
      transaction: true,
      returnsData: false,
      signal: never(),
    });
  for (const _ of [1, 2, 3]) await write("CREATE TEMP TABLE u AS SELECT 1 AS x", "INSERT INTO t FROM u");
  expect(await countOf(t)).toBe(13);
  const copy = "INSERT INTO t SELECT x + 1000 FROM t WHERE x > 1000";
  await write(copy, "INSERT INTO t VALUES (1001)", copy);
  expect(await countOf(t)).toBe(15);
});
