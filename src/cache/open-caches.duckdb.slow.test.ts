import { expect, test } from "vitest";
import { statement } from "../../test/suites/duckdb-engine.ts";
import { definitionOf, ownDefinitionOf, type TestStore, testStore } from "../../test/suites/snapshot-store.ts";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import type { CacheDefinition } from "./cache.ts";
import type { Caches, Lease } from "./caches.ts";
import { openCaches } from "./open-caches.ts";

const NAME = { schema: "s", table: "t" };
const RESULTS = { schema: "s", table: "r" };
const acquiring = { signal: new AbortController().signal, refresh: false };
const SOURCE = "CREATE TABLE src AS SELECT 1 AS n";

async function cachesOver(
  { store }: TestStore,
  {
    definitions = [definitionOf("SELECT n FROM src")],
    maxBytes,
  }: { definitions?: CacheDefinition[]; maxBytes?: number } = {},
) {
  const events: ServiceEvent[] = [];
  const report = (event: ServiceEvent): void => {
    if (event.kind !== "cache-invalidated") events.push(event);
  };
  const bounded = maxBytes === undefined ? {} : { maxBytes };
  const caches = await openCaches({ store, definitions, now: Date.now, report, warmUp: false, ...bounded });
  return { caches, events };
}

const result = (caches: Caches, sql: string): Promise<Lease> =>
  caches.acquireResult(
    sql,
    { name: RESULTS, connections: [], statements: [statement(sql)], scheduleMs: undefined },
    acquiring,
  );

test("a snapshot can be read while it is leased, and is gone from the database afterwards", async () => {
  await using s = await testStore(SOURCE);
  const { caches } = await cachesOver(s);
  const old = await caches.acquire(NAME, acquiring);
  await s.t.sql("INSERT INTO src VALUES (2)");
  caches.invalidate(NAME);
  const current = await caches.acquire(NAME, acquiring);
  expect([old.state, current.state]).toEqual(["miss", "miss"]);
  expect(await s.rowsOf(old.snapshot)).toEqual([[1]]);
  expect(await s.rowsOf(current.snapshot)).toEqual([[1], [2]]);
  old.release();
  await caches.collectGarbage();
  expect(await s.tables()).toEqual(["t", current.snapshot.physicalTable]);
  await caches.close();
  // Another process would find it.
  const { caches: later } = await cachesOver(s);
  expect(await later.acquire(NAME, acquiring)).toMatchObject({ state: "hit", snapshot: current.snapshot });
});

test("a failed refresh leaves the old rows, and the database tells of it", async () => {
  await using s = await testStore(SOURCE);
  const { caches, events } = await cachesOver(s);
  const { snapshot } = await caches.acquire(NAME, acquiring);
  await s.t.sql("ALTER TABLE src RENAME TO away");
  await caches.refreshAfterWrite(NAME);
  const stale = await caches.acquire(NAME, acquiring);
  expect([stale.state, stale.snapshot]).toEqual(["stale", snapshot]);
  expect(await s.rowsOf(stale.snapshot)).toEqual([[1]]);
  expect(events.filter(({ kind }) => kind === "cache-refresh-failed")).toHaveLength(1);
  const [record] = await s.store.records(1);
  expect(record).toMatchObject({ status: "error", message: expect.stringContaining("src") });
  await s.t.sql("ALTER TABLE away RENAME TO src");
  expect((await caches.acquire(NAME, acquiring)).state).toBe("miss");
  await caches.close();
});

test("a template that changes its own table keeps it, however often it is refreshed", async () => {
  await using s = await testStore(SOURCE);
  const own = ownDefinitionOf("CREATE OR REPLACE TABLE cache.s.t AS SELECT n FROM src");
  const { caches, events } = await cachesOver(s, { definitions: [own] });
  const first = await caches.acquire(NAME, acquiring);
  await s.t.sql("INSERT INTO src VALUES (2)");
  await caches.refreshAfterWrite(NAME);
  await caches.refreshAfterWrite(NAME);
  first.release();
  const { state, snapshot } = await caches.acquire(NAME, acquiring);
  expect(state).toBe("hit");
  expect(await caches.collectGarbage()).toBe(0);
  expect(await s.rowsOf(snapshot)).toEqual([[1], [2]]);
  expect(events.map(({ kind }) => kind)).toEqual(["cache-refreshed", "cache-refreshed", "cache-refreshed"]);
  await caches.close();
});

test("results are tables, as many as there is room for", async () => {
  await using s = await testStore(SOURCE);
  const { caches } = await cachesOver(s, { maxBytes: 200_000 });
  for (let index = 0; index < 50; index++) {
    const lease = await result(caches, `SELECT n + ${index} AS n FROM src`);
    expect(await s.rowsOf(lease.snapshot)).toEqual([[1 + index]]);
    lease.release();
  }
  await caches.collectGarbage();
  const kept = await s.tables();
  expect(kept.length).toBeGreaterThan(2);
  expect(kept.length).toBeLessThan(20);
  expect((await result(caches, "SELECT n + 49 AS n FROM src")).state).toBe("hit");
  const large = await result(caches, "SELECT range AS n FROM range(1000000)");
  expect(await s.rows(`SELECT count(*)::INTEGER FROM cache.s.${large.snapshot.physicalTable}`)).toEqual([[1_000_000]]);
  large.release();
  await caches.collectGarbage();
  expect(await s.tables()).not.toContain(large.snapshot.physicalTable);
  expect((await result(caches, "SELECT n + 49 AS n FROM src")).state).toBe("hit");
  await caches.close();
});

test("close drops what has no readers, and interrupts what runs", async () => {
  await using s = await testStore(SOURCE);
  const endless = "SELECT sum(a.range * b.range) AS n FROM range(10000000) a, range(10000000) b";
  const { caches } = await cachesOver(s, { definitions: [definitionOf(endless)] });
  (await result(caches, "SELECT n FROM src")).release();
  const reading = caches.acquire(NAME, acquiring).catch((error: unknown) => error);
  const running = result(caches, endless).catch((error: unknown) => error);
  await until("both run", () => s.t.engine.activity().running >= 2);
  await caches.close();
  expect(await reading).toMatchObject({ failure: { kind: "draining" } });
  expect(await running).toMatchObject({ failure: { kind: "draining" } });
  expect(await s.tables()).toEqual([]);
});

test("many readers and writers at once: each read shows every write that came before it", async () => {
  await using s = await testStore(SOURCE);
  const { caches, events } = await cachesOver(s);
  let written = 1;
  const write = async (): Promise<void> => {
    await s.t.sql("INSERT INTO src VALUES (1)", ["src"]);
    written++;
    caches.invalidate(NAME);
    caches.invalidate(RESULTS);
  };
  const read = async (acquire: () => Promise<Lease>): Promise<void> => {
    const least = written;
    const { snapshot, release } = await acquire();
    const rows = await s.rowsOf(snapshot);
    release();
    expect(rows.length).toBe(snapshot.rows);
    expect(rows.length).toBeGreaterThanOrEqual(least);
  };
  const reader = async (acquire: () => Promise<Lease>): Promise<void> => {
    for (let count = 0; count < 15; count++) await read(acquire);
  };
  const writer = async (): Promise<void> => {
    for (let count = 0; count < 20; count++) await write();
  };
  const table = (): Promise<Lease> => caches.acquire(NAME, acquiring);
  const one = (): Promise<Lease> => result(caches, "SELECT n FROM src");
  await Promise.all([writer(), reader(table), reader(table), reader(one), reader(one)]);
  await caches.collectGarbage();
  expect((await s.tables()).length).toBeLessThanOrEqual(3);
  expect(events.filter(({ kind }) => kind !== "cache-refreshed")).toEqual([]);
  await caches.close();
});
