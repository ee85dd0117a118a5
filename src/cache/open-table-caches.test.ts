import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../test/memory-store.ts";
import { nameOf, tableCache, testCaches } from "../../test/test-caches.ts";
import { fakeClock, runPendingWork } from "../../test/turned-clock.ts";
import { RequestFailure } from "../failure.ts";
import type { Snapshot } from "./cache.ts";

const T = nameOf("t");
const MINUTE = 60_000;
const broken = { kind: "query-failed", message: "no such table" } as const;

/** An AbortController with a failure for a reason. */
function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, stop: () => controller.abort(new RequestFailure({ kind: "cancelled" })) };
}

describe("the first read", () => {
  test("fills, and the second one hits", async () => {
    const { read, store } = await testCaches();
    store.write("t");
    expect(await read()).toEqual(["miss", 1]);
    store.write("t");
    expect(await read()).toEqual(["hit", 1]);
    expect(store.begun).toHaveLength(1);
  });

  test("is shared by all who come meanwhile, in any spelling of the name", async () => {
    const { table, caches, store, clock } = await testCaches();
    store.setDuration(100);
    const other = { signal: new AbortController().signal, refresh: false };
    const leases = Promise.all([table(), table(), caches.acquire({ schema: "CACHE", table: "T" }, other)]);
    await clock.advance(100);
    const found = await leases;
    expect(found.map(({ state }) => state)).toEqual(["miss", "miss", "miss"]);
    expect(new Set(found.map(({ snapshot }) => snapshot.uid)).size).toBe(1);
    expect(store.begun).toHaveLength(1);
  });

  test("goes on for the others, and to its end, when callers leave", async () => {
    const { table, read, store, clock } = await testCaches();
    store.setDuration(100);
    const [first, second] = [stopper(), stopper()];
    const leaving = table("t", first);
    const staying = table("t", second);
    first.stop();
    await expect(leaving).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    await clock.advance(50);
    second.stop();
    await expect(staying).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    await clock.advance(50);
    expect(await read()).toEqual(["hit", 0]);
    expect(store.begun).toHaveLength(1);
  });

  test("of a caller that has left already begins nothing", async () => {
    const { table, store } = await testCaches();
    const gone = stopper();
    gone.stop();
    await expect(table("t", gone)).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    expect(store.begun).toHaveLength(0);
  });

  test("rejects with the failure of the fill, and the next one tries again", async () => {
    const { table, read, store, events } = await testCaches();
    store.setFailure(broken);
    await expect(table()).rejects.toMatchObject({ failure: broken });
    expect(events).toEqual([
      { kind: "cache-refresh-failed", cache: "cache.t", message: "no such table", retryMs: 1_000 },
    ]);
    expect(store.failures).toMatchObject([{ name: T, mode: "full", status: "error", message: "no such table" }]);
    store.setFailure(undefined);
    expect(await read()).toEqual(["miss", 0]);
  });

  test("of an undefined cache is not found", async () => {
    const { table } = await testCaches();
    await expect(table("other")).rejects.toMatchObject({ failure: { kind: "not-found" } });
  });

  test("what the store throws by mistake is an internal failure", async () => {
    const { table, store, events } = await testCaches();
    store.refresh = () => Promise.reject(new Error("oops"));
    await expect(table()).rejects.toMatchObject({ failure: { kind: "internal" }, cause: new Error("oops") });
    expect(events).toMatchObject([{ kind: "cache-refresh-failed", message: "internal: oops" }]);
  });
});

describe("after a write", () => {
  test("the next read waits for the refresh and shows the new rows", async () => {
    const { caches, read, store, clock } = await testCaches();
    await read();
    store.write("t");
    caches.invalidate(T);
    expect(caches.statuses()).toMatchObject([{ isStale: true }]);
    store.setDuration(100);
    const reading = read();
    await clock.advance(100);
    expect(await reading).toEqual(["miss", 1]);
    expect(await read()).toEqual(["hit", 1]);
    expect(caches.statuses()).toMatchObject([{ isStale: false }]);
  });

  test("nothing is refreshed before a read", async () => {
    const { caches, read, store } = await testCaches();
    await read();
    caches.invalidate(T);
    caches.invalidate(T);
    await runPendingWork();
    expect(store.begun).toHaveLength(1);
  });

  test("a failed refresh gives the old rows as stale, and is reported once", async () => {
    const { caches, read, store, events } = await testCaches();
    await read();
    store.write("t");
    caches.invalidate(T);
    store.setFailure(broken);
    events.length = 0;
    expect(await read()).toEqual(["stale", 0]);
    expect(await read()).toEqual(["stale", 0]);
    expect(events).toMatchObject([{ kind: "cache-refresh-failed" }]);
    expect(caches.statuses()).toMatchObject([{ error: "no such table", isStale: true, rows: 0 }]);
    store.setFailure({ kind: "connection-down", connection: "warehouse" });
    expect(await read()).toEqual(["stale", 0]);
    expect(events.at(-1)).toMatchObject({ message: "connection 'warehouse' cannot be reached" });
    store.setFailure(undefined);
    expect(await read()).toEqual(["miss", 1]);
    expect(events.slice(2)).toMatchObject([
      { kind: "cache-refresh-works", cache: "cache.t" },
      { kind: "cache-refreshed" },
    ]);
    expect(caches.statuses()).toMatchObject([{ error: undefined, isStale: false }]);
  });

  test("a refresh that runs already may not have seen it: another one follows", async () => {
    const { caches, read, store, clock } = await testCaches();
    store.setDuration(100);
    const before = read();
    await clock.advance(50);
    store.write("t");
    caches.invalidate(T);
    const after = Promise.all([read(), read()]);
    await clock.advance(50);
    expect(await before).toEqual(["miss", 0]);
    await clock.advance(100);
    expect(await after).toEqual([
      ["miss", 1],
      ["miss", 1],
    ]);
    expect(store.begun).toHaveLength(2);
    expect(store.most().ofOne).toBe(1);
  });

  test("a write during the refresh for an earlier one leaves the cache stale", async () => {
    const { caches, read, store, clock } = await testCaches();
    await read();
    caches.invalidate(T);
    store.setDuration(100);
    const reading = read();
    await clock.advance(50);
    store.write("t");
    caches.invalidate(T);
    await clock.advance(50);
    expect(await reading).toEqual(["miss", 0]);
    expect(caches.statuses()).toMatchObject([{ isStale: true }]);
    store.setDuration(0);
    expect(await read()).toEqual(["miss", 1]);
  });

  test("refreshAfterWrite refreshes before it resolves, also behind a refresh that runs", async () => {
    const { caches, read, store, clock } = await testCaches();
    store.setDuration(100);
    const filling = read();
    await clock.advance(50);
    store.write("t");
    let done = false;
    const refreshing = caches.refreshAfterWrite(T).then(() => {
      done = true;
    });
    await clock.advance(149);
    expect(done).toBe(false);
    await clock.advance(1);
    await Promise.all([filling, refreshing]);
    expect(await read()).toEqual(["hit", 1]);
  });

  test("refreshAfterWrite never rejects: the cache is stale, the failure told", async () => {
    const { caches, read, store, events } = await testCaches();
    await read();
    store.setFailure(broken);
    store.write("t");
    await caches.refreshAfterWrite(T);
    expect(events.at(-1)).toMatchObject({ kind: "cache-refresh-failed" });
    expect(caches.statuses()).toMatchObject([{ isStale: true }]);
    store.setFailure(undefined);
    expect(await read()).toEqual(["miss", 1]);
    await caches.refreshAfterWrite(nameOf("undefined"));
    caches.invalidate(nameOf("undefined"));
  });
});

describe("a caller that wants newer rows", () => {
  test("waits for a refresh that begins after the call; several share it", async () => {
    const { table, read, store, clock } = await testCaches();
    store.setDuration(100);
    const filling = read();
    await clock.advance(50);
    // No write was reported.
    store.write("t");
    const newer = Promise.all([table("t", { refresh: true }), table("t", { refresh: true })]);
    await clock.advance(150);
    expect(await filling).toEqual(["miss", 0]);
    expect((await newer).map(({ state, snapshot }) => [state, snapshot.rows])).toEqual([
      ["miss", 1],
      ["miss", 1],
    ]);
    expect(store.begun).toHaveLength(2);
  });

  test("gets the old ones as stale when it fails; refresh() rejects", async () => {
    const { caches, table, read, store } = await testCaches();
    await read();
    store.setFailure(broken);
    expect(await table("t", { refresh: true })).toMatchObject({ state: "stale", snapshot: { rows: 0 } });
    const { signal } = stopper();
    await expect(caches.refresh(T, signal)).rejects.toMatchObject({ failure: broken });
    store.setFailure(undefined);
    store.write("t");
    expect(await caches.refresh(T, signal)).toMatchObject({ rows: 1 });
    await expect(caches.refresh(nameOf("other"), signal)).rejects.toMatchObject({ failure: { kind: "not-found" } });
  });
});

describe("leases", () => {
  test("a snapshot stays as long as it has readers, and goes with the last one", async () => {
    const { caches, table, store } = await testCaches();
    const [one, two] = [await table(), await table()];
    caches.invalidate(T);
    const newer = await table();
    await runPendingWork();
    expect(store.isThere(one.snapshot)).toBe(true);
    one.release();
    one.release();
    await runPendingWork();
    expect(store.isThere(two.snapshot)).toBe(true);
    two.release();
    await runPendingWork();
    expect(store.isThere(two.snapshot)).toBe(false);
    newer.release();
    await runPendingWork();
    expect(store.isThere(newer.snapshot)).toBe(true);
  });

  test("isCurrent tells whether a call would get the same as a hit, after the release too", async () => {
    const { caches, table, store } = await testCaches();
    const lease = await table();
    lease.release();
    expect(lease.isCurrent()).toBe(true);
    caches.invalidate(T);
    expect(lease.isCurrent()).toBe(false);
    store.setFailure(broken);
    const stale = await table();
    expect(stale.state).toBe("stale");
    expect(stale.isCurrent()).toBe(false);
    store.setFailure(undefined);
    const newer = await table();
    expect([lease, stale, newer].map((each) => each.isCurrent())).toEqual([false, false, true]);
  });

  test("what cannot be dropped keeps nothing else, is told once and tried again every hour", async () => {
    const { caches, table, store, events, clock } = await testCaches();
    caches.start();
    const one = await table();
    caches.invalidate(T);
    const two = await table();
    caches.invalidate(T);
    store.setUndroppable(one.snapshot.physicalTable);
    (await table()).release();
    one.release();
    two.release();
    await runPendingWork();
    expect([store.isThere(one.snapshot), store.isThere(two.snapshot)]).toEqual([true, false]);
    await clock.advance(60 * MINUTE);
    expect(events.filter(({ kind }) => kind === "cache-drop-failed")).toEqual([
      { kind: "cache-drop-failed", message: `${one.snapshot.physicalTable} cannot be dropped` },
    ]);
    store.setUndroppable(undefined);
    await clock.advance(60 * MINUTE);
    expect(store.isThere(one.snapshot)).toBe(false);
    await caches.close();
  });

  test("a refresh that gives back the snapshot that was there changes nothing", async () => {
    const { caches, table, read, store } = await testCaches();
    const { snapshot, release } = await table();
    release();
    store.refresh = () => Promise.resolve({ ...snapshot });
    caches.invalidate(T);
    expect(await read()).toEqual(["miss", 0]);
    await runPendingWork();
    expect(store.isThere(snapshot)).toBe(true);
    expect(caches.statuses()).toMatchObject([{ snapshots: 1 }]);
  });
});

test("a snapshot in the same table takes the place of the one before", async () => {
  const retention = { keepLast: 5, maxAgeMs: undefined };
  const { caches, table, store } = await testCaches({ definitions: [tableCache("t", { retention })] });
  const { snapshot, isCurrent } = await table();
  let id = snapshot.id;
  store.refresh = () => Promise.resolve({ ...snapshot, id: ++id, uid: `own-${id}` });
  await caches.refreshAfterWrite(T);
  await caches.refreshAfterWrite(T);
  expect(isCurrent()).toBe(false);
  expect(caches.statuses()).toMatchObject([{ snapshots: 1 }]);
  expect(store.isThere(snapshot)).toBe(true);
});

describe("retention", () => {
  async function refreshes(count: number, retention: { keepLast: number; maxAgeMs: number | undefined }) {
    const opened = await testCaches({ definitions: [tableCache("t", { retention })] });
    opened.caches.start();
    const made: Snapshot[] = [];
    for (let index = 0; index < count; index++) {
      if (index > 0) await opened.clock.advance(MINUTE);
      made.push(await opened.caches.refresh(T, new AbortController().signal));
    }
    await runPendingWork();
    return { ...opened, there: () => made.map((snapshot) => opened.store.isThere(snapshot)) };
  }

  test("keeps the last ones, the current one among them", async () => {
    const { there, caches } = await refreshes(5, { keepLast: 3, maxAgeMs: undefined });
    expect(there()).toEqual([false, false, true, true, true]);
    expect(caches.statuses()).toMatchObject([{ snapshots: 3 }]);
  });

  test("drops what is too old, with a refresh and by time, never the current one", async () => {
    const { there, clock, caches } = await refreshes(5, { keepLast: 100, maxAgeMs: 2 * MINUTE });
    expect(there()).toEqual([false, false, true, true, true]);
    await clock.advance(61 * MINUTE);
    expect(there()).toEqual([false, false, false, false, true]);
    expect(caches.statuses()).toMatchObject([{ snapshots: 1 }]);
    await caches.close();
  });

  test("collect does it now, and counts what has gone", async () => {
    const clock = fakeClock();
    const loaded = [1, 2, 3].map((id) => snapshotOf(T, id, clock.now() - MINUTE));
    const { caches, table, store } = await testCaches({ clock, loaded });
    const lease = await table();
    expect(lease).toMatchObject({ state: "hit", snapshot: { id: 3 } });
    expect(await caches.collectGarbage()).toBe(2);
    expect(await caches.collectGarbage()).toBe(0);
    expect(loaded.map((snapshot) => store.isThere(snapshot))).toEqual([false, false, true]);
  });
});

test("what is there from before is served at once, and caches that are no longer defined are left alone", async () => {
  const clock = fakeClock();
  const other = snapshotOf(nameOf("other"), 7, clock.now());
  const { read, caches, store } = await testCaches({ clock, loaded: [other, snapshotOf(T, 1, clock.now() - 1)] });
  caches.start();
  expect(await read()).toEqual(["hit", 0]);
  expect(caches.statuses()).toMatchObject([{ name: T, mode: "full", snapshots: 1, nextRefreshAtMs: undefined }]);
  expect(store.isThere(other)).toBe(true);
  await caches.close();
});

test("close interrupts what runs, turns away who waits, and reports nothing", async () => {
  const definitions = ["t", "u", "v"].map((table) => tableCache(table, { scheduleMs: MINUTE }));
  const { caches, table, store, events, clock } = await testCaches({ definitions });
  caches.start();
  store.setDuration(1_000);
  const waiting = ["t", "u", "v", "v"].map((name) => table(name));
  // One that comes behind a running refresh.
  caches.invalidate(T);
  waiting.push(table("t"));
  await runPendingWork();
  const settled = Promise.allSettled(waiting);
  await caches.close();
  expect(await settled).toMatchObject(
    waiting.map(() => ({ status: "rejected", reason: { failure: { kind: "draining" } } })),
  );
  expect(store.begun).toHaveLength(2);
  expect(store.failures).toEqual([]);
  expect(events).toEqual([]);
  expect(clock.timers()).toBe(0);
  await expect(table()).rejects.toMatchObject({ failure: { kind: "draining" } });
  await expect(caches.refresh(T, new AbortController().signal)).rejects.toMatchObject({
    failure: { kind: "draining" },
  });
  await caches.refreshAfterWrite(T);
});
