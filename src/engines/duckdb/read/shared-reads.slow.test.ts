import { setMaxListeners } from "node:events";
import { expect, test } from "vitest";
import { answerOf, failureOf, pageOf, readOf, statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { until } from "../../../../test/until.ts";
import { RequestFailure } from "../../../failure.ts";
import { integerValue } from "../../../sql/statement.ts";
import type { StopSignal } from "../../engine.ts";
import { NOT_WATCHED, type Rows } from "../../rows.ts";
import { NEVER_STOPPED, openStop } from "../../stop.ts";
import { openSharedReads } from "./shared-reads.ts";

/** Takes a while, and tells who shares by what it returns. */
const SLOW = "SELECT count(*) AS n, max(t.id) AS id FROM range(60000000) r, t";
const ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(100) b, t";
const SETUP = "CREATE TABLE t AS SELECT 7 AS id; CREATE SEQUENCE numbers";
const READERS = 20;

setMaxListeners(READERS * 2);

const readers = <T>(read: () => Promise<T>): Promise<T>[] => Array.from({ length: READERS }, read);

test("identical reads at the same time are one execution", async () => {
  await using t = await testEngine(SETUP, { maxConcurrentQueries: 8 });
  const page = pageOf([statement(SLOW)], 10);
  const read = async () => await answerOf(await t.engine.read(page));
  // On a busy machine, the first callers do not wait until this is known.
  await until("the query is known to be shareable", async () => {
    await Promise.all([read(), read()]);
    return t.engine.savings().shared > 0;
  });
  const answers = readers(read);
  await until("the query runs", () => t.engine.activity().running > 0);
  let busiest = 0;
  const watch = setInterval(() => {
    busiest = Math.max(busiest, t.engine.activity().running + t.engine.activity().waiting);
  }, 1);
  const all = await Promise.all(answers);
  clearInterval(watch);
  expect(busiest).toBe(1);
  expect(all).toEqual(all.map(() => ({ columns: ["n", "id"], rows: [[60_000_000, 7]], total: 1 })));
});

test.each([
  [
    "another value",
    (reader: number) => statement("SELECT id, $1 AS v FROM t", { type: "BIGINT", value: BigInt(reader) }),
  ],
  [
    "another type",
    (reader: number) => statement("SELECT id, $1 AS v FROM t", { type: "VARCHAR", value: String(reader) }),
  ],
])("reads with %s are not shared", async (_, query) => {
  await using t = await testEngine(SETUP);
  const answers = await Promise.all(
    Array.from(
      { length: READERS },
      async (_value, reader) => await answerOf(await t.engine.read(pageOf([query(reader)], 10))),
    ),
  );
  expect(answers.map(({ rows }) => String(rows[0]?.[1]))).toEqual(answers.map((_answer, reader) => String(reader)));
});

test.each(["SELECT nextval('numbers') AS id", "SELECT uuid()::VARCHAR AS id", "SELECT hash(random())::VARCHAR AS id"])(
  "%s gives each caller its own value",
  async (sql) => {
    await using t = await testEngine(SETUP);
    const page = pageOf([statement(sql)], 10);
    const answers = await Promise.all(readers(async () => await answerOf(await t.engine.read(page))));
    expect(new Set(answers.map(({ rows }) => rows[0]?.[0])).size).toBe(READERS);
  },
);

test("a caller that leaves does not stop the others; with the last one the query stops", async () => {
  await using t = await testEngine(SETUP);
  const signals = Array.from({ length: 3 }, () => new AbortController());
  const reads = signals.map(({ signal }) => failureOf(t.engine.read({ ...pageOf([statement(ENDLESS)], 10), signal })));
  await until("the query runs", () => t.engine.activity().running === 1);
  const gone = signals.map(() => new RequestFailure({ kind: "cancelled" }));
  signals[0]?.abort(gone[0]);
  expect(await reads[0]).toBe(gone[0]);
  expect(t.engine.activity().running).toBe(1);
  signals[2]?.abort(gone[2]);
  expect(await reads[2]).toBe(gone[2]);
  expect(t.engine.activity().running).toBe(1);
  signals[1]?.abort(gone[1]);
  expect(await reads[1]).toBe(gone[1]);
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("a caller that leaves before it is known whether it may share is counted once", async () => {
  const reads = openSharedReads();
  const [leader, leaver, last] = [openStop(), openStop(), openStop()];
  let isStopped = false;
  const run = (signal: StopSignal): Promise<Rows> =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        isStopped = true;
        reject(signal.reason);
      });
    });
  let decide = (_: boolean): void => {};
  const undecided = new Promise<boolean>((resolve) => {
    decide = resolve;
  });
  const options = { run, mayShare: async () => true };
  const leading = failureOf(reads.read("k", { ...options, signal: leader.signal }));
  const leaving = failureOf(reads.read("k", { ...options, mayShare: () => undecided, signal: leaver.signal }));
  const sharing = failureOf(reads.read("k", { ...options, signal: last.signal }));
  const gone = new RequestFailure({ kind: "cancelled" });
  leaver.abort(gone);
  expect(await leaving).toBe(gone);
  decide(false);
  await undecided;
  last.abort(gone);
  expect(await sharing).toBe(gone);
  expect(isStopped).toBe(false);
  leader.abort(gone);
  expect(await leading).toBe(gone);
  expect(isStopped).toBe(true);
});

const EMPTY: Rows = {
  columns: [],
  total: undefined,
  watch: NOT_WATCHED,
  next: async () => undefined,
  close: async () => {},
};

function deferred<T>() {
  let resolve = (_: T): void => {};
  let reject = (_: unknown): void => {};
  const promise = new Promise<T>((onValue, onError) => {
    [resolve, reject] = [onValue, onError];
  });
  return { promise, resolve, reject };
}

/** Two callers of one execution: the first aborts while the second does not know yet whether it may share. */
function leftByItsStarter() {
  const reads = openSharedReads();
  const starter = openStop();
  const running = deferred<Rows>();
  const mayShare = deferred<boolean>();
  const own = { ...EMPTY };
  let isStopped = false;
  const run = (signal: StopSignal): Promise<Rows> => {
    signal.addEventListener("abort", () => {
      isStopped = true;
      running.reject(signal.reason);
    });
    return running.promise;
  };
  const starting = failureOf(reads.read("k", { run, mayShare: async () => true, signal: starter.signal }));
  const joining = reads.read("k", { run: async () => own, mayShare: () => mayShare.promise, signal: NEVER_STOPPED });
  const gone = new RequestFailure({ kind: "cancelled" });
  starter.abort(gone);
  return { running, mayShare, own, joining, starting, gone, isStopped: () => isStopped };
}

test("an execution stops when the last caller turns out to need its own", async () => {
  const t = leftByItsStarter();
  expect(await t.starting).toBe(t.gone);
  expect(t.isStopped()).toBe(false);
  t.mayShare.resolve(false);
  expect(await t.joining).toBe(t.own);
  expect(t.isStopped()).toBe(true);
});

test.each([true, false])(
  "a stream whose starter is gone is closed, even if another caller waits: %s",
  async (mayShare) => {
    const t = leftByItsStarter();
    const closed = deferred<void>();
    t.running.resolve({ ...EMPTY, close: async () => closed.resolve() });
    await closed.promise;
    t.mayShare.resolve(mayShare);
    expect(await t.joining).toBe(t.own);
  },
);

test("what fails, fails for all who share", async () => {
  await using t = await testEngine(SETUP);
  const sql = "SELECT CASE WHEN count(*) > 0 THEN error('409: taken') END FROM range(20000000), t";
  const failures = await Promise.all(readers(() => failureOf(t.engine.read(pageOf([statement(sql)], 10)))));
  expect(failures.map(({ failure }) => failure)).toEqual(
    failures.map(() => ({ kind: "refused-by-template", status: 409, message: "taken" })),
  );
});

test("what is read after a write never joins what began before it", async () => {
  await using t = await testEngine(SETUP);
  const page = pageOf([statement(SLOW)], 10);
  for (const id of [11, 12, 13]) {
    const before = t.engine.read(page).then(answerOf);
    await until("the query runs", () => t.engine.activity().running === 1);
    await t.sql(`UPDATE t SET id = ${id}`, ["t"]);
    const after = t.engine.read(page).then(answerOf);
    expect((await after).rows).toEqual([[60_000_000, id]]);
    expect((await before).rows[0]?.[0]).toBe(60_000_000);
  }
});

test("each caller reads long results separately, as a whole", async () => {
  await using t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(5)");
  const read = readOf({ statements: "SELECT id FROM t" });
  const small = await Promise.all(readers(async () => (await answerOf(await t.engine.read(read))).rows.length));
  expect(small).toEqual(small.map(() => 5));
  // It was small, is now expected to be, and has grown.
  await t.sql("INSERT INTO t SELECT range FROM range(50000)");
  const large = await Promise.all(readers(async () => (await answerOf(await t.engine.read(read))).rows.length));
  expect(large).toEqual(large.map(() => 50_005));
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("the version of rows: of the query, its values and its tables", async () => {
  await using t = await testEngine(SETUP);
  const versionOf = async (sql: string, ...values: readonly number[]) => {
    const rows = await t.engine.read(pageOf([statement(sql, ...values.map(integerValue))], 10));
    return (await rows.watch())?.version;
  };
  const version = await versionOf("SELECT id FROM t WHERE id > $1", 1);
  expect(version).toBeTypeOf("string");
  expect(await versionOf("SELECT id FROM t WHERE id > $1", 1)).toBe(version);
  expect(await versionOf("SELECT id FROM t WHERE id > $1", 2)).not.toBe(version);
  expect(await versionOf("SELECT id FROM t WHERE id >= $1", 1)).not.toBe(version);
  await t.sql("UPDATE t SET id = 8", ["t"]);
  expect(await versionOf("SELECT id FROM t WHERE id > $1", 1)).not.toBe(version);
});

test("rows tell whether they are still what the same read would give", async () => {
  await using t = await testEngine(`${SETUP}; ATTACH ':memory:' AS other; CREATE TABLE other.o AS SELECT 1 AS id`);
  const rows = await t.engine.read(pageOf([statement("SELECT id FROM t")], 10));
  const data = await rows.watch();
  expect(data?.isUnchanged()).toBe(true);
  await t.sql("CREATE TABLE u AS SELECT 1 AS id", ["u"]);
  expect(data?.isUnchanged()).toBe(true);
  await t.sql("UPDATE t SET id = 8", ["t"]);
  expect(data?.isUnchanged()).toBe(false);
  for (const sql of ["SELECT id FROM other.o", "SELECT now(), id FROM t", "SELECT random(), id FROM t"]) {
    const unknown = await t.engine.read(pageOf([statement(sql)], 10));
    expect(await unknown.watch()).toBeUndefined();
  }
});
