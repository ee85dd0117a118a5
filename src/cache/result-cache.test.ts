import { describe, expect, test } from "vitest";
import { NEVER, nameOf, RESULTS, testCaches } from "../../test/test-caches.ts";
import { runPendingWork } from "../../test/turned-clock.ts";
import { RequestFailure } from "../failure.ts";
import type { Lease } from "./caches.ts";

const MINUTE = 60_000;
const KIB = 1024;
const scheduled = { scheduleMs: MINUTE };
const broken = { kind: "query-failed", message: "no such table" } as const;

function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, stop: () => controller.abort(new RequestFailure({ kind: "cancelled" })) };
}

const resultsOf = (begun: readonly { readonly what: string }[]): string =>
  begun.map(({ what }) => what.slice(8)).join(" ");

describe("the rows of a call", () => {
  test("are made once, shared by those who come meanwhile, and kept apart from others by key and cache", async () => {
    const { caches, result, readResult, store, clock } = await testCaches();
    store.setDuration(100);
    const first = Promise.all([readResult("a"), readResult("a"), readResult("b")]);
    await clock.advance(100);
    expect((await first).map(([state]) => state)).toEqual(["miss", "miss", "miss"]);
    store.setDuration(0);
    expect(await readResult("a")).toEqual(["hit", 0]);
    expect(resultsOf(store.begun)).toBe("a b");
    const elsewhere = { name: nameOf("other"), connections: [], statements: [], scheduleMs: undefined };
    const lease = await caches.acquireResult("a", elsewhere, { signal: NEVER, refresh: false });
    expect(lease.state).toBe("miss");
    expect(lease.snapshot.uid).not.toBe((await result("a")).snapshot.uid);
    expect(caches.statuses().slice(1)).toMatchObject([
      { name: RESULTS, mode: "results", snapshots: 2, isStale: false },
      { name: nameOf("other"), mode: "results", snapshots: 1 },
    ]);
  });

  test("do not wait for refreshes of tables: a call runs its own query", async () => {
    const { caches, readResult, store, clock } = await testCaches({ maxConcurrentRefreshes: 1 });
    store.setDuration(10 * MINUTE);
    void caches.refresh(nameOf("t"), NEVER);
    store.setDuration(100);
    const reading = Promise.all(["a", "b", "c"].map((sql) => readResult(sql)));
    await clock.advance(100);
    expect((await reading).map(([state]) => state)).toEqual(["miss", "miss", "miss"]);
  });

  test("the query goes on while one caller waits, and is interrupted when all have left", async () => {
    const { result, readResult, store, clock, events } = await testCaches();
    store.setDuration(100);
    const [one, two] = [stopper(), stopper()];
    const waiting = [result("a", one), result("a", two)];
    const settled = Promise.allSettled(waiting);
    one.stop();
    await clock.advance(50);
    two.stop();
    expect(await settled).toMatchObject(waiting.map(() => ({ reason: { failure: { kind: "cancelled" } } })));
    // A caller that arrives when it ends does not get its failure.
    const next = readResult("a");
    await clock.advance(100);
    expect(await next).toEqual(["miss", 0]);
    expect(resultsOf(store.begun)).toBe("a a");
    expect(events).toMatchObject([{ kind: "cache-refreshed", mode: "results", cache: "cache.results" }]);
  });

  test("a query behind another one is not begun when all who wanted it have left", async () => {
    const { caches, result, readResult, store, clock } = await testCaches();
    store.setDuration(100);
    const first = readResult("a");
    await clock.advance(50);
    caches.invalidate(RESULTS);
    const leaving = stopper();
    const second = result("a", leaving);
    leaving.stop();
    await expect(second).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    await clock.advance(1_000);
    expect(await first).toEqual(["miss", 0]);
    expect(store.begun).toHaveLength(1);
    const gone = stopper();
    gone.stop();
    await expect(result("new", gone)).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    expect(caches.statuses().at(-1)).toMatchObject({ snapshots: 1 });
  });

  test("nor is it lost to those who come after they have left", async () => {
    const { caches, result, readResult, store, clock } = await testCaches();
    store.setDuration(100);
    const first = readResult("a");
    store.write("results");
    caches.invalidate(RESULTS);
    const leaving = stopper();
    const second = result("a", leaving);
    leaving.stop();
    const third = readResult("a");
    await expect(second).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    await clock.advance(200);
    expect([await first, await third]).toEqual([
      ["miss", 0],
      ["miss", 1],
    ]);
  });

  test("a failure is the caller's, and leaves nothing behind", async () => {
    const { caches, result, readResult, store, events } = await testCaches();
    store.setFailure(broken);
    await expect(result("a")).rejects.toMatchObject({ failure: broken });
    expect(events).toEqual([]);
    expect(caches.statuses().at(-1)).toMatchObject({ snapshots: 0, rows: 0, createdAtMs: undefined, error: undefined });
    store.setFailure(undefined);
    expect(await readResult("a")).toEqual(["miss", 0]);
  });

  test("a caller that wants newer rows gets them, and so do later callers", async () => {
    const { result, readResult, store } = await testCaches();
    await readResult("a");
    store.write("results");
    expect(await result("a", { refresh: true })).toMatchObject({ state: "miss", snapshot: { rows: 1 } });
    expect(await readResult("a")).toEqual(["hit", 1]);
  });
});

describe("after a write", () => {
  test("the next read of each key waits for new rows; the old table goes with its last reader", async () => {
    const { caches, result, readResult, store } = await testCaches();
    const old = await result("a");
    await readResult("b");
    store.write("results");
    caches.invalidate(RESULTS);
    expect(old.isCurrent()).toBe(false);
    expect(await readResult("a")).toEqual(["miss", 1]);
    await runPendingWork();
    expect(store.isThere(old.snapshot)).toBe(true);
    old.release();
    await runPendingWork();
    expect(store.isThere(old.snapshot)).toBe(false);
    expect(await readResult("b")).toEqual(["miss", 1]);
    expect(await readResult("a")).toEqual(["hit", 1]);
  });

  test("rows that were being read when it came are not given to those who come after it", async () => {
    const { caches, readResult, store, clock } = await testCaches();
    store.setDuration(100);
    const before = readResult("a");
    await clock.advance(50);
    store.write("results");
    caches.invalidate(RESULTS);
    const after = readResult("a");
    await clock.advance(150);
    expect(await before).toEqual(["miss", 0]);
    expect(await after).toEqual(["miss", 1]);
  });

  test("rows that were being read when it came are old when they are there", async () => {
    const { caches, readResult, store, clock } = await testCaches();
    store.setDuration(100);
    const before = readResult("a");
    await clock.advance(50);
    store.write("results");
    caches.invalidate(RESULTS);
    await clock.advance(50);
    expect(await before).toEqual(["miss", 0]);
    store.setDuration(0);
    expect(await readResult("a")).toEqual(["miss", 1]);
  });

  test("the old rows are served as stale when a refresh fails, and that is reported", async () => {
    const { caches, readResult, store, events } = await testCaches();
    await readResult("a");
    await readResult("b");
    store.write("results");
    caches.invalidate(RESULTS);
    store.setFailure(broken);
    events.length = 0;
    expect(await readResult("a")).toEqual(["stale", 0]);
    expect(await readResult("b")).toEqual(["stale", 0]);
    expect(events).toEqual([
      { kind: "cache-refresh-failed", cache: "cache.results", message: "no such table", retryMs: undefined },
    ]);
    expect(caches.statuses().at(-1)).toMatchObject({ error: "no such table", isStale: true });
    store.setFailure(undefined);
    expect(await readResult("a")).toEqual(["miss", 1]);
    expect(caches.statuses().at(-1)).toMatchObject({ error: "no such table" });
    expect(await readResult("b")).toEqual(["miss", 1]);
    expect(caches.statuses().at(-1)).toMatchObject({ error: undefined });
    expect(events.filter(({ kind }) => kind === "cache-refresh-works")).toHaveLength(1);
  });

  test("a template that refuses now gives no old rows", async () => {
    const { caches, result, readResult, store } = await testCaches();
    await readResult("a");
    caches.invalidate(RESULTS);
    store.setFailure({ kind: "refused-by-template", status: 403, message: "not yours" });
    await expect(result("a")).rejects.toMatchObject({ failure: { kind: "refused-by-template" } });
    await runPendingWork();
    expect(store.results()).toEqual([]);
    store.setFailure(broken);
    await expect(result("a")).rejects.toMatchObject({ failure: broken });
  });

  test("refreshAfterWrite refreshes what was read in the last five minutes, at most 20, a few at a time", async () => {
    const { caches, readResult, store, clock } = await testCaches();
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
    for (const key of keys) await readResult(key);
    store.write("results");
    store.setDuration(100);
    const refreshing = caches.refreshAfterWrite(RESULTS);
    await clock.advance(10 * 100);
    await refreshing;
    expect(resultsOf(store.begun.slice(30))).toBe(keys.slice(10).toReversed().join(" "));
    store.setDuration(0);
    expect(await readResult("k29")).toEqual(["hit", 1]);
    expect(await readResult("k0")).toEqual(["miss", 1]);
    await clock.advance(5 * MINUTE - 1);
    await readResult("k28");
    await clock.advance(2);
    store.write("results");
    await caches.refreshAfterWrite(RESULTS);
    expect(resultsOf(store.begun.slice(51))).toBe("k28");
    expect(await readResult("k28")).toEqual(["hit", 2]);
    expect(await readResult("k29")).toEqual(["miss", 2]);
  });

  test("refreshAfterWrite never rejects", async () => {
    const { caches, readResult, store, events } = await testCaches();
    await readResult("a");
    store.setFailure(broken);
    await caches.refreshAfterWrite(RESULTS);
    expect(events.at(-1)).toMatchObject({ kind: "cache-refresh-failed" });
    expect(await readResult("a")).toEqual(["stale", 0]);
  });

  test("a read that waits for a refresh in the queue takes it forward", async () => {
    const { caches, readResult, store, clock } = await testCaches({ maxConcurrentRefreshes: 1 });
    for (const key of ["a", "b", "c"]) await readResult(key);
    store.write("results");
    store.setDuration(100);
    const refreshing = caches.refreshAfterWrite(RESULTS);
    const reading = readResult("a");
    await clock.advance(100);
    expect(await reading).toEqual(["miss", 1]);
    await clock.advance(100);
    await refreshing;
    expect(resultsOf(store.begun.slice(3))).toBe("c a b");
  });
});

describe("a schedule", () => {
  test("refreshes what was read in the background, and drops what was not read for a whole period", async () => {
    const { caches, result, readResult, store, clock } = await testCaches();
    caches.start();
    await readResult("read", scheduled);
    const lease = await result("unread", scheduled);
    lease.release();
    await readResult("unscheduled");
    await clock.advance(MINUTE / 2);
    expect(await readResult("read", scheduled)).toEqual(["hit", 0]);
    store.write("results");
    store.setDuration(100);
    await clock.advance(MINUTE / 2);
    // No caller waits for it: until it is done, the old rows are served.
    expect(await readResult("read", scheduled)).toEqual(["hit", 0]);
    await clock.advance(100);
    expect(await readResult("read", scheduled)).toEqual(["hit", 1]);
    expect(store.isThere(lease.snapshot)).toBe(false);
    expect(lease.isCurrent()).toBe(false);
    expect(resultsOf(store.begun)).toBe("read unread unscheduled read");
    expect(caches.statuses().at(-1)).toMatchObject({ snapshots: 2, nextRefreshAtMs: clock.now() + MINUTE - 100 });
    await clock.advance(24 * 60 * MINUTE);
    expect(caches.statuses().at(-1)).toMatchObject({ snapshots: 1, nextRefreshAtMs: undefined });
    expect(await readResult("unscheduled")).toEqual(["hit", 0]);
    await caches.close();
  });

  test("checking whether a lease is current counts as a read: it is kept fresh", async () => {
    const { caches, result, store, clock } = await testCaches();
    caches.start();
    let lease = await result("hot", scheduled);
    for (let refreshes = 1; refreshes <= 5; refreshes++) {
      lease.release();
      await clock.advance(MINUTE / 2);
      expect(lease.isCurrent()).toBe(true);
      await clock.advance(MINUTE / 2);
      expect(lease.isCurrent()).toBe(false);
      lease = await result("hot", scheduled);
      expect(lease.state).toBe("hit");
      expect(store.begun).toHaveLength(1 + refreshes);
    }
    await caches.close();
  });

  test("a failed refresh is retried while the rows are read; two periods later they are stale", async () => {
    const { caches, readResult, store, clock, events } = await testCaches();
    caches.start();
    await readResult("a", scheduled);
    await readResult("a", scheduled);
    store.setFailure(broken);
    await clock.advance(MINUTE + 500);
    expect(events.at(-1)).toMatchObject({ kind: "cache-refresh-failed", retryMs: 1_000 });
    await clock.advance(500);
    expect(store.begun).toHaveLength(3);
    expect(await readResult("a", scheduled)).toEqual(["hit", 0]);
    await clock.advance(MINUTE);
    expect(await readResult("a", scheduled)).toEqual(["stale", 0]);
    store.setFailure(undefined);
    await clock.advance(MINUTE);
    expect(events.filter(({ kind }) => kind === "cache-refresh-works")).toHaveLength(1);
    expect(await readResult("a", scheduled)).toEqual(["hit", 0]);
    store.setFailure(broken);
    await clock.advance(10 * MINUTE);
    expect(store.results()).toEqual([]);
    await caches.close();
  });

  test("is not lost when its time comes while callers refresh and then leave", async () => {
    const { caches, result, readResult, store, clock } = await testCaches();
    caches.start();
    await readResult("a", scheduled);
    await clock.advance(MINUTE - 100);
    store.setDuration(1_000);
    const leaving = stopper();
    const waiting = result("a", { ...scheduled, ...leaving, refresh: true });
    await clock.advance(200);
    leaving.stop();
    await expect(waiting).rejects.toMatchObject({ failure: { kind: "cancelled" } });
    await clock.advance(1_000);
    expect(store.begun).toHaveLength(3);
    await caches.close();
  });
});

describe("memory", () => {
  test("is bounded: least recently used go first, hot ones count as used", async () => {
    const { result, readResult, store } = await testCaches({ maxBytes: 4 * KIB });
    store.setResultBytes(KIB);
    const leases = new Map<string, Lease>();
    for (const key of ["a", "b", "c", "d"]) {
      const lease = await result(key);
      lease.release();
      leases.set(key, lease);
    }
    await readResult("a");
    expect(leases.get("b")?.isCurrent()).toBe(true);
    await readResult("e");
    await readResult("f");
    await runPendingWork();
    expect(store.results()).toHaveLength(4);
    expect(["a", "b", "c", "d"].filter((key) => leases.get(key)?.isCurrent())).toEqual(["a", "b"]);
  });

  test("the order is that of the last reads", async () => {
    const { result, readResult, store } = await testCaches({ maxBytes: 4 * KIB });
    store.setResultBytes(KIB);
    const leases = new Map<string, Lease>();
    for (const key of ["a", "b", "c", "d", "c", "b", "a"]) {
      const lease = await result(key);
      lease.release();
      leases.set(key, lease);
    }
    for (const key of ["e", "f"]) await readResult(key);
    // Asking is reading: each is asked once.
    expect([...leases].map(([key, { isCurrent }]) => [key, isCurrent()])).toEqual([
      ["a", true],
      ["b", true],
      ["c", false],
      ["d", false],
    ]);
  });

  test("tables that grow in the background push others out", async () => {
    const { caches, readResult, store, clock } = await testCaches({ maxBytes: 4 * KIB });
    caches.start();
    store.setResultBytes(KIB);
    for (const key of ["other", "growing", "growing"]) await readResult(key, key === "other" ? {} : scheduled);
    store.setResultBytes(4 * KIB);
    await clock.advance(MINUTE);
    expect(store.results()).toMatchObject([{ bytes: 4 * KIB }]);
    await caches.close();
  });

  test("a table that was pushed out while a new one was made is counted like any other", async () => {
    const { result, readResult, store, clock } = await testCaches({ maxBytes: 4 * KIB });
    store.setResultBytes(KIB);
    await readResult("a");
    store.setDuration(100);
    const newer = result("a", { refresh: true });
    store.setDuration(0);
    for (const key of ["b", "c", "d", "e"]) await readResult(key);
    await runPendingWork();
    expect(store.results()).toHaveLength(4);
    await clock.advance(100);
    (await newer).release();
    for (const key of ["f", "g", "h", "i"]) await readResult(key);
    await runPendingWork();
    expect(store.results()).toHaveLength(4);
    expect(await readResult("a")).toEqual(["miss", 0]);
  });

  test("a table with readers stays, and is counted", async () => {
    const { result, readResult, store } = await testCaches({ maxBytes: 2 * KIB });
    store.setResultBytes(KIB);
    const leases = [];
    for (const key of ["a", "b", "c"]) leases.push(await result(key));
    await runPendingWork();
    expect(store.results()).toHaveLength(3);
    expect(await readResult("a")).toEqual(["hit", 0]);
    await runPendingWork();
    expect(store.results()).toHaveLength(3);
    for (const lease of leases) lease.release();
    await runPendingWork();
    expect(store.results()).toHaveLength(2);
    expect(await readResult("a")).toEqual(["miss", 0]);
  });

  test("a result that is too large is given to those who wait, pushes nothing out and goes", async () => {
    const { result, readResult, store, clock } = await testCaches({ maxBytes: 10 * KIB });
    store.setResultBytes(KIB);
    await readResult("small");
    store.setResultBytes(11 * KIB);
    store.setDuration(100);
    const waiting = Promise.all([result("large"), result("large")]);
    await clock.advance(100);
    const [one, two] = await waiting;
    expect(one.snapshot).toBe(two.snapshot);
    expect([one.isCurrent(), one.state]).toEqual([false, "miss"]);
    one.release();
    await runPendingWork();
    expect(store.isThere(two.snapshot)).toBe(true);
    two.release();
    await runPendingWork();
    expect(store.results()).toHaveLength(1);
    expect(await readResult("small")).toEqual(["hit", 0]);
  });

  test("results without a size are counted all the same", async () => {
    const { readResult, store } = await testCaches({ maxBytes: 100 * KIB });
    for (let index = 0; index < 500; index++) await readResult(String(index));
    await runPendingWork();
    expect(store.results()).toHaveLength(100);
  });

  test("what was sent with calls counts beside their rows: 32 MiB of it, and no call with more than 4 MiB", async () => {
    const { readResult, store } = await testCaches();
    const long = (index: number): string => `${index} ${"x".repeat(256 * KIB)}`;
    for (let index = 0; index < 100; index++) expect(await readResult(long(index))).toEqual(["miss", 0]);
    // A text of 256 KiB takes half a mebibyte as a key, and as much in its statement.
    expect(store.results()).toHaveLength(31);
    expect((await readResult(long(99)))[0]).toBe("hit");
    expect((await readResult(long(0)))[0]).toBe("miss");
    const tooLong = "x".repeat(1024 * KIB);
    expect((await readResult(tooLong))[0]).toBe("miss");
    expect((await readResult(tooLong))[0]).toBe("miss");
    expect(store.results()).toHaveLength(31);
  });
});

test("close drops every table without readers, and does not wait for a hanging drop", async () => {
  const { caches, result, readResult, store, clock } = await testCaches();
  for (const key of ["a", "b"]) await readResult(key);
  const lease = await result("c");
  await caches.close();
  expect(store.results()).toEqual([lease.snapshot]);
  lease.release();
  await runPendingWork();
  expect(store.results()).toEqual([lease.snapshot]);
  await expect(result("a")).rejects.toMatchObject({ failure: { kind: "draining" } });

  const other = await testCaches({ clock });
  await other.readResult("a");
  other.store.drop = () => new Promise(() => {});
  const closing = other.caches.close();
  await clock.advance(5_000);
  await closing;
});
