import { expect, test } from "vitest";
import { answerOf, failureOf, pageOf, readOf, statement, testEngine } from "../../../test/suites/duckdb-engine.ts";
import { RequestFailure } from "../../failure.ts";
import { openDuckDb } from "./open-duckdb.ts";

const TABLE = "CREATE TABLE t AS SELECT range AS id FROM range(1000000)";
const ENDLESS = "SELECT count(*) FROM t a, t b WHERE (a.id * b.id) % 7 = 3";
const ENDLESS_STREAM = "SELECT a.id FROM t a, t b";
const timeout = new RequestFailure({ kind: "query-timeout", limitMs: 1 });

function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(timeout), ms);
  return controller.signal;
}

test.each([0, 1, 5, 60])("a query that would run for hours is stopped (after %i ms)", async (ms) => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1 });
  for (const read of [
    pageOf([statement(ENDLESS)], 10),
    readOf({ statements: ENDLESS }),
    // The page is there at once; the count is not.
    pageOf([statement("SELECT a.id FROM t a, t b WHERE (a.id * b.id) % 7 = 3")], 10),
    readOf({ statements: [statement(`CREATE TEMP TABLE x AS ${ENDLESS}`), statement("FROM x")] }),
  ]) {
    expect(await failureOf(t.engine.read({ ...read, signal: abortAfter(ms) }))).toBe(timeout);
    expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
    // The connection works as before, and a late interrupt hits no other query.
    expect((await t.read({ statements: "SELECT max(id) FROM t" })).rows).toEqual([[999_999]]);
  }
});

test("a stream is stopped while rows are fetched, and never ends as if it were complete", async () => {
  await using t = await testEngine(TABLE);
  const signal = abortAfter(50);
  const work = (async () => answerOf(await t.engine.read({ ...readOf({ statements: ENDLESS_STREAM }), signal })))();
  expect(await failureOf(work)).toBe(timeout);
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("a stream whose consumer is busy holds no slot, and is cleaned up when it is cancelled meanwhile", async () => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1 });
  const controller = new AbortController();
  const rows = await t.engine.read({ ...readOf({ statements: ENDLESS_STREAM }), signal: controller.signal });
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
  expect((await t.read({ statements: "SELECT 1" })).rows).toEqual([[1]]);
  expect((await rows.next())?.rows).toBeGreaterThan(0);
  controller.abort(timeout);
  expect(await failureOf(Promise.resolve(rows.next()))).toBe(timeout);
  await rows.close();
});

test("a stream can be closed early, also while it fetches", async () => {
  await using t = await testEngine(TABLE);
  const rows = await t.engine.read(readOf({ statements: ENDLESS_STREAM }));
  await rows.next();
  await rows.close();
  expect(await rows.next()).toBeUndefined();
  const slow = await t.engine.read(
    readOf({ statements: "SELECT id FROM range(1000000000000) r(id) WHERE id < 1000000 OR id % 999999999999 = 5" }),
  );
  const late = failureOf(answerOf(slow));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await slow.close();
  expect((await late).failure.kind).toBe("cancelled");
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("what is cancelled already does not start", async () => {
  await using t = await testEngine(TABLE);
  const signal = AbortSignal.abort(timeout);
  expect(await failureOf(t.engine.read({ ...readOf({ statements: ENDLESS }), signal }))).toBe(timeout);
});

test("beyond the queue reads are turned away; those that wait can be cancelled, and come in order", async () => {
  await using t = await testEngine(TABLE, { maxConcurrentQueries: 1, maxQueued: 2 });
  const running = new AbortController();
  const first = failureOf(t.engine.read({ ...readOf({ statements: ENDLESS }), signal: running.signal }));
  const waiting = new AbortController();
  const second = failureOf(t.engine.read({ ...readOf({ statements: "SELECT 2" }), signal: waiting.signal }));
  const third = t.read({ statements: "SELECT 3" });
  await Promise.resolve();
  expect(t.engine.activity()).toEqual({ running: 1, waiting: 2 });
  expect((await failureOf(t.read({ statements: "SELECT 4" }))).failure.kind).toBe("overloaded");
  waiting.abort(timeout);
  expect(await second).toBe(timeout);
  expect(t.engine.activity()).toEqual({ running: 1, waiting: 1 });
  running.abort(timeout);
  expect(await first).toBe(timeout);
  expect((await third).rows).toEqual([[3]]);
});

test("an error on the way is reported, not taken for the end", async () => {
  await using t = await testEngine(TABLE);
  const late = "SELECT CASE WHEN id > 500000 THEN error('boom') ELSE id END FROM t";
  expect((await failureOf(t.read({ statements: late }))).failure).toMatchObject({ kind: "query-failed" });
  const early = "SELECT 1 AS x UNION ALL SELECT error('403: not yours')::INT FROM range(1)";
  for (const _ of [1, 2]) {
    expect((await failureOf(t.engine.read(readOf({ statements: early })))).failure).toEqual({
      kind: "refused-by-template",
      status: 403,
      message: "not yours",
    });
  }
  expect((await t.read({ statements: "SELECT 1" })).rows).toEqual([[1]]);
});

test("closing interrupts what runs, and nothing starts after it", async () => {
  const engine = await openDuckDb({
    path: undefined,
    settings: new Map(),
    connections: [{ name: "t", init: TABLE, secrets: [] }],
    maxConcurrentQueries: 2,
    maxQueued: 10,
  });
  const connections = ["t"];
  await engine.openConnection("t");
  const stream = await engine.read(readOf({ connections, statements: ENDLESS_STREAM }));
  const running = failureOf(engine.read(readOf({ connections, statements: ENDLESS })));
  const waiting = [1, 2, 3].map(() => failureOf(engine.read(readOf({ connections, statements: ENDLESS }))));
  await new Promise((resolve) => setTimeout(resolve, 30));
  await engine.close();
  for (const { failure } of await Promise.all([running, ...waiting])) expect(failure.kind).toBe("draining");
  expect((await failureOf(answerOf(stream))).failure.kind).toBe("draining");
  expect((await failureOf(engine.read(readOf({ statements: "SELECT 1" })))).failure.kind).toBe("draining");
});

test("closing waits for connections that are being opened: they must not reach a closed database", async () => {
  for (let attempt = 0; attempt < 20; attempt++) {
    const engine = await openDuckDb({
      path: undefined,
      settings: new Map(),
      connections: [],
      maxConcurrentQueries: 8,
      maxQueued: undefined,
    });
    const reads = Array.from({ length: 8 }, (_, index) =>
      failureOf(engine.read(readOf({ statements: `SELECT ${index}` }))),
    );
    // The reads have begun, and wait for their connections.
    await Promise.resolve();
    await engine.close();
    for (const { failure } of await Promise.all(reads)) expect(failure).toEqual({ kind: "draining" });
  }
});

test("a write that is cancelled at any moment tells the truth: done and told, or failed and not done", async () => {
  await using t = await testEngine("CREATE TABLE w (id INTEGER)");
  let done = 0;
  let failed = 0;
  for (let id = 0; id < 150; id++) {
    const controller = new AbortController();
    const write = t.engine.write({
      connections: [],
      statements: [statement("INSERT INTO w SELECT $1 FROM range(20000)", { type: "BIGINT", value: BigInt(id) })],
      transaction: true,
      returnsData: false,
      signal: controller.signal,
    });
    // From at once to after the end: the moments around the commit are among them.
    const timer = setTimeout(() => controller.abort(timeout), (id % 15) * 0.4);
    const told = await write.then(
      () => 20_000,
      () => 0,
    );
    clearTimeout(timer);
    if (told === 0) failed++;
    else done++;
    const { rows } = await t.read({ statements: `SELECT count(*)::INTEGER FROM w WHERE id = ${id}` });
    expect([id, rows]).toEqual([id, [[told]]]);
  }
  expect(done).toBeGreaterThan(0);
  expect(failed).toBeGreaterThan(0);
});
