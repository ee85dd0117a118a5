import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../test/memory-store.ts";
import { NEVER, nameOf, tableCache, testCaches } from "../../test/test-caches.ts";
import { fakeClock, runPendingWork } from "../../test/turned-clock.ts";

const T = nameOf("t");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const broken = { kind: "query-failed", message: "no such table" } as const;
const everyMinute = [tableCache("t", { scheduleMs: MINUTE })];

/** The same numbers in each run, from 0 up to 1. */
function numbers(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Bytes that are in use after everything that can go has gone. */
function usedHeap(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}

describe("a schedule", () => {
  test("refreshes, and no reader waits: the old rows are a hit until the new ones are there", async () => {
    const { caches, table, read, store, clock } = await testCaches({ definitions: everyMinute });
    caches.start();
    const lease = await table();
    expect(caches.statuses()).toMatchObject([{ nextRefreshAtMs: clock.now() + MINUTE }]);
    store.write("t");
    store.setDuration(10 * SECOND);
    await clock.advance(MINUTE);
    expect(store.begun).toHaveLength(2);
    expect(caches.statuses()).toMatchObject([{ nextRefreshAtMs: clock.now(), isStale: false }]);
    expect(await read()).toEqual(["hit", 0]);
    expect(lease.isCurrent()).toBe(true);
    await clock.advance(10 * SECOND);
    expect(await read()).toEqual(["hit", 1]);
    expect(lease.isCurrent()).toBe(false);
    // A period after the beginning, not after the end.
    expect(caches.statuses()).toMatchObject([{ nextRefreshAtMs: clock.now() + 50 * SECOND }]);
    await caches.close();
  });

  test("nothing happens before start", async () => {
    const { read, store, clock } = await testCaches({ definitions: everyMinute, warmUp: true });
    await clock.advance(HOUR);
    expect(store.begun).toHaveLength(0);
    await read();
    await clock.advance(HOUR);
    expect(store.begun).toHaveLength(1);
    expect(clock.timers()).toBe(0);
  });

  test("a slow refresh is not started twice, and has a pause behind it", async () => {
    const { caches, read, store, clock } = await testCaches({ definitions: everyMinute });
    caches.start();
    await read();
    store.setDuration(5 * MINUTE);
    await clock.advance(MINUTE);
    await clock.advance(4 * MINUTE);
    expect(store.begun).toHaveLength(2);
    // No failure was reported, but the rows are old.
    expect(await read()).toEqual(["stale", 0]);
    await clock.advance(MINUTE);
    expect(await read()).toEqual(["hit", 0]);
    await clock.advance(5 * SECOND);
    expect(store.begun).toHaveLength(2);
    await clock.advance(SECOND);
    expect(store.begun).toHaveLength(3);
    await caches.close();
  });

  test("failures are tried again with back-off; reads get hits, and stale rows after two periods", async () => {
    const { caches, table, read, store, clock, events } = await testCaches({ definitions: everyMinute });
    caches.start();
    const { isCurrent } = await table();
    const from = clock.now();
    store.setFailure(broken);
    await clock.advance(2 * MINUTE);
    expect(store.begun.slice(1).map(({ at }) => (at - from) / SECOND)).toEqual([60, 61, 63, 67, 75, 91]);
    expect(await read()).toEqual(["hit", 0]);
    expect(isCurrent()).toBe(true);
    await clock.advance(1);
    expect(await read()).toEqual(["stale", 0]);
    expect(isCurrent()).toBe(false);
    expect(caches.statuses()).toMatchObject([{ error: "no such table", isStale: true }]);
    await clock.advance(MINUTE);
    // No later than a period.
    expect(store.begun.slice(7).map(({ at }) => (at - from) / SECOND)).toEqual([123]);
    expect(events.filter(({ kind }) => kind !== "cache-refreshed")).toEqual([
      { kind: "cache-refresh-failed", cache: "cache.t", message: "no such table", retryMs: SECOND },
    ]);
    store.setFailure(undefined);
    await clock.advance(MINUTE);
    expect(await read()).toEqual(["hit", 0]);
    expect(events.slice(-2)).toEqual([
      { kind: "cache-refresh-works", cache: "cache.t" },
      { kind: "cache-refreshed", cache: "cache.t", mode: "full", rows: 0, ms: 0 },
    ]);
    expect(store.failures).toHaveLength(7);
    await caches.close();
  });

  test("a cache without one is tried again after a failure too, and then left alone", async () => {
    const { caches, read, store, clock } = await testCaches();
    caches.start();
    await read();
    caches.invalidate(T);
    store.setFailure(broken);
    await read();
    await clock.advance(HOUR);
    const tries = store.begun.length;
    expect(tries).toBeGreaterThan(15);
    expect(tries).toBeLessThan(25);
    store.setFailure(undefined);
    store.write("t");
    await clock.advance(5 * MINUTE);
    expect(await read()).toEqual(["hit", 1]);
    await clock.advance(24 * HOUR);
    expect(store.begun).toHaveLength(tries + 1);
    await caches.close();
  });

  test("at start what is too old is due at once, spread out; the rest when it is time; what is empty in a period", async () => {
    const clock = fakeClock();
    const names = Array.from({ length: 100 }, (_, index) => `t${index}`);
    const loaded = [
      ...names.map((table) => snapshotOf(nameOf(table), 1, clock.now() - 24 * HOUR)),
      snapshotOf(nameOf("young"), 1, clock.now() - 20 * MINUTE),
      // The clock was set back since.
      snapshotOf(nameOf("future"), 1, clock.now() + 24 * HOUR),
    ];
    const definitions = [...names, "young", "future", "empty"].map((table) => tableCache(table, { scheduleMs: HOUR }));
    const { caches, read, store } = await testCaches({ clock, loaded, definitions, random: numbers() });
    expect(await read("t0")).toEqual(["stale", 0]);
    expect(await read("young")).toEqual(["hit", 0]);
    const from = clock.now();
    caches.start();
    await clock.advance(MINUTE);
    expect(store.begun.map(({ what }) => what).toSorted()).toEqual(names.toSorted());
    const moments = new Set(store.begun.map(({ at }) => Math.floor((at - from) / (10 * SECOND))));
    expect(moments.size).toBe(6);
    const at = (table: string) => ((store.begun.find(({ what }) => what === table)?.at ?? 0) - from) / MINUTE;
    await clock.advance(HOUR + 10 * MINUTE);
    expect(at("young")).toBeGreaterThan(34);
    expect(at("young")).toBeLessThan(46);
    for (const table of ["future", "empty"]) {
      expect(at(table)).toBeGreaterThan(54);
      expect(at(table)).toBeLessThan(66.1);
    }
    await caches.close();
  });

  test("a read does not wait behind scheduled refreshes, not even behind its own", async () => {
    const clock = fakeClock();
    const definitions = Array.from({ length: 1_000 }, (_, index) => tableCache(`t${index}`, { scheduleMs: HOUR }));
    const loaded = definitions.map(({ name }) => snapshotOf(name, 1, clock.now() - 24 * HOUR));
    const { caches, read, store } = await testCaches({ clock, loaded, definitions });
    caches.start();
    store.setDuration(10 * SECOND);
    await clock.advance(30 * SECOND);
    expect(store.begun).toHaveLength(2);
    // One that is in the queue already.
    const queued = definitions.findLast(({ name }) => store.begun.every(({ what }) => what !== name.table))?.name;
    if (queued === undefined) throw new Error("all have begun");
    caches.invalidate(queued);
    store.write(queued.table);
    const reading = read(queued.table);
    await clock.advance(20 * SECOND);
    expect(await reading).toEqual(["miss", 1]);
    expect(store.begun.filter(({ what }) => what === queued.table)).toHaveLength(1);
    expect(store.most()).toEqual({ refreshes: 2, ofOne: 1 });
    await caches.close();
  });

  test("a clock that is set back or forth does no harm", async () => {
    const { caches, read, store, clock } = await testCaches({ definitions: everyMinute });
    caches.start();
    await read();
    await clock.advance(30 * SECOND);
    clock.set(-24 * HOUR);
    expect(await read()).toEqual(["hit", 0]);
    await clock.advance(30 * SECOND);
    expect(store.begun).toHaveLength(2);
    await clock.advance(10 * MINUTE);
    expect(store.begun).toHaveLength(12);
    clock.set(48 * HOUR);
    // The rows may be that old; within a minute they are not.
    expect(await read()).toEqual(["stale", 0]);
    await clock.advance(MINUTE);
    expect(await read()).toEqual(["hit", 0]);
    expect(store.begun).toHaveLength(13);
    await clock.advance(10 * MINUTE);
    expect(store.begun).toHaveLength(23);
    await caches.close();
  });
});

test("1,000 caches in an hour: never more at once than allowed, each about 60 times, spread out, one timer", async () => {
  const clock = fakeClock();
  const definitions = Array.from({ length: 1_000 }, (_, index) => tableCache(`t${index}`, { scheduleMs: MINUTE }));
  const loaded = definitions.map(({ name }) => snapshotOf(name, 1, clock.now() - HOUR));
  const { caches, store } = await testCaches({ clock, loaded, definitions, random: numbers() });
  store.setDuration(40);
  const from = clock.now();
  caches.start();
  expect(clock.timers()).toBe(1);
  let timers = 0;
  for (let minute = 0; minute < 60; minute++) {
    await clock.advance(MINUTE);
    timers = Math.max(timers, clock.timers());
  }
  expect(store.most()).toEqual({ refreshes: 2, ofOne: 1 });
  // That of the schedule, and those with which two refreshes take their time.
  expect(timers).toBeLessThanOrEqual(3);
  const counts = new Map<string, number>();
  const seconds = new Map<number, number>();
  for (const { what, at } of store.begun) {
    counts.set(what, (counts.get(what) ?? 0) + 1);
    const second = Math.floor((at - from) / SECOND);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  expect(counts.size).toBe(1_000);
  expect(Math.min(...counts.values())).toBeGreaterThanOrEqual(56);
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(64);
  // They spread by themselves: in the last ten minutes no second has twice its share of 16.7.
  const late = [...seconds].filter(([second]) => second >= 3_000).map(([, count]) => count);
  expect(late).toHaveLength(600);
  expect(Math.max(...late)).toBeLessThanOrEqual(35);
  await caches.close();
});

test("1,000 unused caches cost no timer and little memory", async () => {
  const clock = fakeClock();
  const definitions = Array.from({ length: 1_000 }, (_, index) => tableCache(`t${index}`, { scheduleMs: HOUR }));
  const loaded = definitions.map(({ name }) => snapshotOf(name, 1, clock.now()));
  const before = usedHeap();
  const { caches } = await testCaches({ clock, definitions, loaded });
  caches.start();
  await clock.advance(MINUTE);
  expect(usedHeap() - before).toBeLessThan(3 * 1024 * 1024);
  expect(clock.timers()).toBe(1);
  expect(caches.statuses()).toHaveLength(1_000);
  await caches.close();
  expect(clock.timers()).toBe(0);
});

describe("warm-up", () => {
  test("fills what is empty, a few at a time, and tells how far it is", async () => {
    const clock = fakeClock();
    const definitions = Array.from({ length: 25 }, (_, index) => tableCache(`t${index}`));
    const loaded = [snapshotOf(nameOf("t7"), 1, clock.now())];
    const { caches, read, store, events } = await testCaches({ clock, definitions, loaded, warmUp: true });
    store.setDuration(SECOND);
    store.setFailure(broken, "t3");
    caches.start();
    const last = read("t24");
    await clock.advance(2 * SECOND);
    // A read comes first here too.
    expect(await last).toEqual(["miss", 0]);
    await clock.advance(10 * SECOND);
    expect(store.most().refreshes).toBe(2);
    expect(events.filter(({ kind }) => kind === "cache-warm-up")).toEqual(
      [0, 3, 6, 9, 12, 15, 18, 21, 24].map((done) => ({
        kind: "cache-warm-up",
        done,
        total: 24,
        failed: done < 6 ? 0 : 1,
      })),
    );
    expect(await read("t0")).toEqual(["hit", 0]);
    expect(store.begun.filter(({ what }) => what === "t7")).toEqual([]);
    store.setFailure(undefined, "t3");
    await clock.advance(MINUTE);
    expect(await read("t3")).toEqual(["hit", 0]);
    await caches.close();
  });

  test("is silent where nothing is empty, and when it is cut short", async () => {
    const clock = fakeClock();
    const full = await testCaches({ clock, loaded: [snapshotOf(T, 1, clock.now())], warmUp: true });
    full.caches.start();
    await runPendingWork();
    expect(full.events).toEqual([]);
    await full.caches.close();

    const short = await testCaches({ definitions: ["t", "u", "v"].map((table) => tableCache(table)), warmUp: true });
    short.store.setDuration(SECOND);
    short.caches.start();
    await short.caches.close();
    expect(short.events).toEqual([{ kind: "cache-warm-up", done: 0, total: 3, failed: 0 }]);
    expect(short.store.failures).toEqual([]);
  });
});

test("caches that fill at the same time wait for each other's turn", async () => {
  const definitions = ["a", "b", "c", "d", "e"].map((table) => tableCache(table));
  const { caches, store, clock } = await testCaches({ definitions, maxConcurrentRefreshes: 3 });
  store.setDuration(SECOND);
  const all = Promise.all(definitions.map(({ name }) => caches.acquire(name, { signal: NEVER, refresh: false })));
  await clock.advance(2 * SECOND);
  expect(await all).toHaveLength(5);
  expect(store.most()).toEqual({ refreshes: 3, ofOne: 1 });
});
