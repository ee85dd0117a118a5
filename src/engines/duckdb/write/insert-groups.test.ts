import { expect, test } from "vitest";
import { failureOf, readOf, statement, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { until } from "../../../../test/until.ts";
import { RequestFailure } from "../../../failure.ts";
import type { BoundValue } from "../../../sql/statement.ts";
import type { Write } from "../../engine.ts";
import type { WriteResult } from "../../rows.ts";
import { openInsertGroups } from "./insert-groups.ts";

const TABLE =
  "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL CHECK (name <> 'bad'), tx BIGINT DEFAULT txid_current())";
const INSERT = "INSERT INTO t (id, name) VALUES ($1, $2)";
const timeout = new RequestFailure({ kind: "query-timeout", limitMs: 1 });

const int = (value: number): BoundValue => ({ type: "BIGINT", value: BigInt(value) });
const text = (value: string | null): BoundValue => ({ type: "VARCHAR", value });

function insertOf(id: number, name: string | null = `name ${id}`, write: Partial<Write> = {}): Write {
  return {
    connections: [],
    statements: [statement(INSERT, int(id), text(name))],
    transaction: true,
    returnsData: false,
    signal: new AbortController().signal,
    ...write,
  };
}

/** An engine that already knows where the inserts go. Its table has the row 0. */
async function openEngine(sql = INSERT, setup = TABLE): Promise<TestEngine> {
  const t = await testEngine(setup);
  await t.engine.write(insertOf(0, "first", { statements: [statement(sql, int(0), text("first"))] }));
  await t.engine.recordStore([]);
  return t;
}

const idsOf = async (t: TestEngine): Promise<unknown[]> =>
  (await t.read({ statements: "SELECT id FROM t ORDER BY id" })).rows.map(([id]) => id);

async function transactionsOf(t: TestEngine): Promise<unknown> {
  return (await t.read({ statements: "SELECT count(DISTINCT tx) FROM t WHERE id > 0" })).rows[0]?.[0];
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test("inserts that arrive while one runs are committed together", async () => {
  await using t = await openEngine();
  const started: number[] = [];
  const writes = numbers(1, 8).map((id) =>
    t.engine.write(insertOf(id, undefined, { onStart: () => void started.push(id) })),
  );
  expect(t.engine.activity()).toEqual({ running: 1, waiting: 7 });
  expect(await Promise.all(writes)).toEqual(numbers(1, 8).map(() => ({ rowsAffected: 1, rows: undefined })));
  expect(started).toEqual(numbers(1, 8));
  expect(await idsOf(t)).toEqual(numbers(0, 8));
  expect(await transactionsOf(t)).toBe(2);
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("many at once: all are inserted once", async () => {
  await using t = await openEngine();
  const results = await Promise.all(numbers(1, 300).map((id) => t.engine.write(insertOf(id))));
  expect(new Set(results.map(({ rowsAffected }) => rowsAffected))).toEqual(new Set([1]));
  expect(await idsOf(t)).toEqual(numbers(0, 300));
});

test.each([
  ["a key that exists", insertOf(0), { kind: "query-failed", constraint: "unique", message: /Duplicate key "id: 0"/ }],
  ["NULL", insertOf(4, null), { kind: "query-failed", constraint: "other", message: /t\.name/ }],
  ["a CHECK", insertOf(4, "bad"), { kind: "query-failed", constraint: "other", message: /CHECK/ }],
  [
    "a value of another type",
    { ...insertOf(4), statements: [statement(INSERT, text("four"), text("x"))] },
    { kind: "query-failed", message: /'four'/ },
  ],
  [
    "a number that is too large",
    { ...insertOf(4), statements: [statement(INSERT, int(2 ** 40), text("x"))] },
    { kind: "query-failed", message: /1099511627776/ },
  ],
])("one of eight fails (%s): only that one", async (_, bad, { message, ...failure }) => {
  await using t = await openEngine();
  const settled = await Promise.allSettled(numbers(1, 8).map((id) => t.engine.write(id === 4 ? bad : insertOf(id))));
  expect(settled.map(({ status }) => status === "fulfilled")).toEqual(numbers(1, 8).map((id) => id !== 4));
  const [, , , fourth] = settled;
  expect(fourth).toMatchObject({ reason: { failure: { ...failure, message: expect.stringMatching(message) } } });
  expect(await idsOf(t)).toEqual(numbers(0, 8).filter((id) => id !== 4));
});

test("the same key twice in one group: one of the two fails", async () => {
  await using t = await openEngine();
  const settled = await Promise.allSettled([1, 2, 3, 3, 4].map((id) => t.engine.write(insertOf(id))));
  const failed = settled.flatMap((each, index) => (each.status === "rejected" ? [{ index, reason: each.reason }] : []));
  expect(failed).toMatchObject([{ reason: { failure: { kind: "query-failed", constraint: "unique" } } }]);
  expect([2, 3]).toContain(failed[0]?.index);
  expect(await idsOf(t)).toEqual(numbers(0, 4));
});

test("one that is cancelled while it waits leaves at once, and is not inserted", async () => {
  await using t = await openEngine();
  const controller = new AbortController();
  const writes = numbers(1, 8).map((id) =>
    t.engine.write(insertOf(id, undefined, id === 5 ? { signal: controller.signal } : {})),
  );
  controller.abort(timeout);
  expect(t.engine.activity().waiting).toBe(6);
  expect(await failureOf(writes[4] ?? Promise.resolve())).toBe(timeout);
  await Promise.all(writes.filter((_, index) => index !== 4));
  expect(await idsOf(t)).toEqual(numbers(0, 8).filter((id) => id !== 5));
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});

test("one that is cancelled while its group waits for a slot is not inserted; the others are", async () => {
  await using t = await openEngine();
  const busy = new AbortController();
  const endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b";
  const controller = new AbortController();
  const first = t.engine.write(insertOf(1));
  const writes = [2, 3, 4].map((id) =>
    t.engine.write(insertOf(id, undefined, id === 3 ? { signal: controller.signal } : {})),
  );
  // They take all slots before the group does.
  const reads = numbers(1, 4).map((n) =>
    t.engine.read(readOf({ statements: `${endless} WHERE a.range > ${n}`, signal: busy.signal })).catch(() => {}),
  );
  await first;
  await until("the group waits", () => t.engine.activity().waiting > 0);
  controller.abort(timeout);
  expect(await failureOf(writes[1] ?? Promise.resolve())).toBe(timeout);
  busy.abort(timeout);
  await Promise.all([writes[0], writes[2], ...reads]);
  expect(await idsOf(t)).toEqual([0, 1, 2, 4]);
});

test("one that is cancelled while its group runs is inserted only if it says so; the others are, once", async () => {
  await using t = await openEngine();
  for (const round of numbers(0, 39)) {
    const ids = numbers(round * 8 + 1, round * 8 + 8);
    const controller = new AbortController();
    const settled = await Promise.allSettled(
      ids.map((id, index) =>
        t.engine.write(
          insertOf(id, undefined, {
            signal: controller.signal.aborted || index !== 4 ? new AbortController().signal : controller.signal,
            onStart: index === 3 ? () => void setTimeout(() => controller.abort(timeout), round % 4) : undefined,
          }),
        ),
      ),
    );
    const [isIn] = (await t.read({ statements: `SELECT count(*) FROM t WHERE id = ${ids[4]}` })).rows;
    const fifth = settled[4];
    expect(isIn).toEqual([fifth?.status === "fulfilled" ? 1 : 0]);
    if (fifth?.status === "rejected") expect(fifth.reason).toBe(timeout);
    expect(settled.filter((_, index) => index !== 4).every(({ status }) => status === "fulfilled")).toBe(true);
  }
  expect((await idsOf(t)).length).toBeGreaterThanOrEqual(1 + 40 * 7);
});

test.each([
  "INSERT INTO t (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
  "INSERT INTO t (id, name) VALUES ($1, $2) RETURNING id",
  "INSERT INTO t (id, name) SELECT $1, $2",
  "INSERT INTO t (id, name) VALUES ($1, CASE WHEN $2 = 'bad' THEN error('409: bad') ELSE $2 END)",
])("others have transactions of their own: %s", async (sql) => {
  await using t = await openEngine(sql);
  const inserts = numbers(1, 8).map((id) =>
    t.engine.write(insertOf(0, "", { statements: [statement(sql, int(id), text("x"))] })),
  );
  expect((await Promise.all(inserts)).map(({ rowsAffected }) => rowsAffected)).toEqual(numbers(1, 8).map(() => 1));
  expect(await transactionsOf(t)).toBe(8);
});

test("error() of a template fails only its own request", async () => {
  const sql = "INSERT INTO t (id, name) VALUES ($1, CASE WHEN $2 = 'bad' THEN error('409: full') ELSE $2 END)";
  await using t = await openEngine(sql);
  const insert = (id: number): Write =>
    insertOf(0, "", { statements: [statement(sql, int(id), text(id === 3 ? "bad" : "x"))] });
  const settled = await Promise.allSettled(numbers(1, 8).map((id) => t.engine.write(insert(id))));
  expect(settled.flatMap((each) => (each.status === "rejected" ? [each.reason.failure] : []))).toEqual([
    { kind: "refused-by-template", status: 409, message: "full" },
  ]);
  expect(await idsOf(t)).toEqual(numbers(0, 8).filter((id) => id !== 3));
});

test("different SQL, connections and queue groups do not mix; without a transaction there is no group", async () => {
  await using t = await openEngine();
  const other = "INSERT INTO t (name, id) VALUES ($2, $1)";
  await t.engine.write(insertOf(100, "", { statements: [statement(other, int(100), text("x"))] }));
  await Promise.all([
    t.engine.write(insertOf(1)),
    t.engine.write(insertOf(2, "", { statements: [statement(other, int(2), text("x"))] })),
    t.engine.write(insertOf(3, "x", { queueGroup: { name: "a", maxConcurrency: undefined } })),
    t.engine.write(insertOf(4, "x", { transaction: false })),
    t.engine.write(insertOf(5, "x", { checkRowCount: () => {} })),
  ]);
  expect(await idsOf(t)).toEqual([0, 1, 2, 3, 4, 5, 100]);
  expect(await transactionsOf(t)).toBe(6);
});

test("an attached database of DuckDB has groups, too", async () => {
  const sql = "INSERT INTO c.u VALUES ($1, $2)";
  await using t = await openEngine(sql, "ATTACH ':memory:' AS c; CREATE TABLE c.u (id INTEGER, name VARCHAR)");
  const writes = numbers(1, 8).map((id) =>
    t.engine.write(insertOf(0, "", { statements: [statement(sql, int(id), text("x"))] })),
  );
  expect(t.engine.activity()).toEqual({ running: 1, waiting: 7 });
  await Promise.all(writes);
  expect((await t.read({ statements: "SELECT count(*), count(DISTINCT id) FROM c.u" })).rows).toEqual([[9, 9]]);
});

test("rows that were read before a group are not valid after it", async () => {
  await using t = await openEngine();
  const isUnchanged = async (): Promise<() => boolean> => {
    const rows = await t.engine.read(readOf({ statements: "SELECT id FROM t" }));
    const data = await rows.watch();
    await rows.close();
    return data?.isUnchanged ?? isUnchanged();
  };
  const watch = await isUnchanged();
  expect(watch()).toBe(true);
  let writing = Promise.resolve<unknown>(undefined);
  for (const round of [1, 2, 3]) {
    writing = Promise.all(
      [1, 2, 3].map(async (n) => {
        const id = round * 10 + n;
        await t.engine.write(insertOf(id));
        // A client that has its answer can read its row.
        expect(await idsOf(t)).toContain(id);
      }),
    );
    await writing;
  }
  expect(watch()).toBe(false);
});

/** Values as parameters may have them, by the type of the column. */
const VALUES: Readonly<Record<string, readonly BoundValue[]>> = {
  INTEGER: [int(1), text("2"), { type: "DECIMAL", value: "2.5" }, { type: "BOOLEAN", value: true }, text(null)],
  VARCHAR: [int(1), text("a"), { type: "DECIMAL", value: "2.50" }, { type: "DATE", value: "2024-02-29" }, text("")],
  "DECIMAL(10, 2)": [int(1), text("2.345"), { type: "DECIMAL", value: "2.345" }, { type: "DOUBLE", value: "0.1" }],
  DOUBLE: [int(3), text("1e5"), { type: "DECIMAL", value: "0.1" }, { type: "DOUBLE", value: "0.3" }, text(null)],
  TIMESTAMP: [text("2024-01-01"), { type: "DATE", value: "2024-02-29" }, text("2024-01-01 10:00:00.5"), text(null)],
  JSON: [text('{"a": 1}'), int(5), { type: "BOOLEAN", value: false }, text("null")],
  "INTEGER[]": [text("[1, 2]"), text("[]"), text(null), text("[3]")],
};

test.each(Object.entries(VALUES))("in a group, values become %s as they do alone", async (type, values) => {
  const table = (name: string): string => `CREATE TABLE ${name} (id INTEGER, v ${type})`;
  await using t = await testEngine(`${table("alone")}; ${table("grouped")}`);
  const insert = (name: string, id: number, value: BoundValue): Promise<WriteResult> =>
    t.engine.write(insertOf(0, "", { statements: [statement(`INSERT INTO ${name} VALUES ($1, $2)`, int(id), value)] }));
  await insert("grouped", -1, text(null));
  await t.engine.recordStore([]);
  for (const [id, value] of values.entries()) await insert("alone", id, value);
  const writes = [insert("grouped", -2, text(null)), ...values.map((value, id) => insert("grouped", id, value))];
  expect(t.engine.activity().waiting).toBe(values.length);
  await Promise.all(writes);
  const rowsOf = async (name: string): Promise<unknown> =>
    (await t.read({ statements: `SELECT id, v::VARCHAR FROM ${name} WHERE id >= 0 ORDER BY id` })).rows;
  expect(await rowsOf("grouped")).toEqual(await rowsOf("alone"));
});

test("when the engine closes, those that wait are told", async () => {
  const t = await openEngine();
  const settled = Promise.allSettled(numbers(1, 8).map((id) => t.engine.write(insertOf(id))));
  await t[Symbol.asyncDispose]();
  for (const each of await settled) {
    if (each.status === "rejected") expect(each.reason.failure.kind).toBe("draining");
  }
});

/** What ran, as numbers of rows: `fail` may fail it. */
function recorded(fail: (rows: number) => void, isInDuckDb: () => boolean = () => true) {
  const ran: number[] = [];
  const groups = openInsertGroups({
    isInDuckDb,
    async run({ statements }, check) {
      await Promise.resolve();
      check?.();
      const rows = (statements[0]?.values.length ?? 0) / 2;
      ran.push(rows);
      fail(rows);
      return { rowsAffected: rows, rows: undefined };
    },
  });
  return { ran, groups };
}

test.each([
  ["IO Error: Could not write file", [1, 4]],
  ["FATAL Error: Failed: database has been invalidated", [1, 4]],
  ["TransactionContext Error: Failed to commit: IO Error", [1, 4]],
  ["Constraint Error: CHECK", [1, 4, 1, 1, 1, 1]],
])("after an error that leaves open whether it was committed, nothing runs again: %s", async (message, expected) => {
  const { ran, groups } = recorded((rows) => {
    if (rows > 1) throw new RequestFailure({ kind: "query-failed", message });
  });
  const settled = await Promise.allSettled(numbers(1, 5).map((id) => groups.write(insertOf(id))));
  expect(ran).toEqual(expected);
  const failed = settled.filter(({ status }) => status === "rejected");
  expect(failed.length).toBe(expected.length === 2 ? 4 : 0);
});

test("there are no groups in other kinds of databases", async () => {
  const never = recorded(
    () => {},
    () => false,
  );
  await Promise.all(numbers(1, 5).map((id) => never.groups.write(insertOf(id))));
  expect(never.ran).toEqual([1, 1, 1, 1, 1]);
  // It is attached after the inserts have arrived.
  let isInDuckDb = true;
  const later = recorded(
    () => {},
    () => isInDuckDb,
  );
  const writes = numbers(1, 5).map((id) => later.groups.write(insertOf(id)));
  isInDuckDb = false;
  await Promise.all(writes);
  expect(later.ran).toEqual([1, 1, 1, 1, 1]);
});

test("a group has at most 32 rows, and few different sizes", async () => {
  const { ran, groups } = recorded(() => {});
  await Promise.all(numbers(1, 30).map((id) => groups.write(insertOf(id))));
  expect(ran).toEqual([1, 24, 5]);
  ran.length = 0;
  await Promise.all(numbers(1, 40).map((id) => groups.write(insertOf(id))));
  // The last seven do not join.
  expect(ran).toEqual([1, ...numbers(1, 7).map(() => 1), 32]);
});
