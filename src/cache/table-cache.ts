import { RequestFailure } from "../failure.ts";
import { type Attempt, openAttempts, type RefreshOutcome } from "./attempts.ts";
import { type CacheDefinition, type CacheName, cacheKey, type Snapshot } from "./cache.ts";
import type { AcquireOptions, CacheStatus, Lease } from "./caches.ts";
import type { Coordination } from "./coordination.ts";
import { isSameDefinition } from "./definition-text.ts";
import type { HeldSnapshot } from "./leases.ts";
import { reasonOf } from "./refresh-failure.ts";
import { scheduledTask } from "./schedule.ts";
import { newestOf, type StoredCaches, type TableCache, type TableCaches } from "./table-caches.ts";
import { freshForMs } from "./timing.ts";
import { warmUp } from "./warm-up.ts";

export function openTableCaches(
  definitions: readonly CacheDefinition[],
  stored: StoredCaches,
  { store, queue, schedule, leases, timing, marks, now, report, sharing }: Coordination,
): TableCaches {
  const attempts = openAttempts<TableCache>({
    queue,
    now,
    time: schedule.time,
    handlers: {
      make: async (cache, signal, isScheduled) => {
        const { definition, current } = cache;
        // The leader runs scheduled refreshes, and the others adopt its snapshots.
        if (isScheduled && sharing?.leads() === false && current !== undefined && !isStale(cache)) {
          return newestOf(await store.load(), definition.name) ?? current.snapshot;
        }
        for (const name of definition.reads ?? []) await fillBefore(name, signal);
        return await cache.marks.during(() => store.refresh(definition, current?.snapshot, signal));
      },
      made,
      failed,
      settled: retireOld,
    },
  });
  const caches = new Map<string, TableCache>();
  for (const definition of definitions) caches.set(cacheKey(definition.name), openTable(definition));
  fill(caches, stored);
  markOutdated(stored);

  /** Another refresh reads the table, and has a place in the queue already: this one does not wait for another. */
  async function fillBefore(name: CacheName, signal: AcquireOptions["signal"]): Promise<void> {
    const cache = tableOf(name);
    if (cache.current !== undefined && !isStale(cache)) return;
    await attempts.wait(cache, {
      priority: "call",
      newer: false,
      signal,
      endsWithWaiters: false,
      take(outcome) {
        if (outcome.kind === "failed" && cache.current === undefined) throw outcome.failure;
      },
    });
  }

  /** The current snapshot of each cache comes last. */
  function fill(opened: ReadonlyMap<string, TableCache>, { snapshots, marks: left }: StoredCaches): void {
    for (const mark of left) {
      const cache = opened.get(cacheKey(mark.name));
      if (cache === undefined) continue;
      cache.marks.adopt([mark]);
      cache.writes.count++;
    }
    for (const snapshot of snapshots) {
      const cache = opened.get(cacheKey(snapshot.name));
      if (cache === undefined) continue;
      setCurrent(cache, snapshot);
      cache.lateFrom = schedule.time() - ageOf(snapshot) + freshForMs(cache.definition.scheduleMs, 0);
    }
  }

  /** Rows of another template are stale: the next read waits for new ones. */
  function markOutdated({ outdated }: StoredCaches): void {
    for (const name of outdated) invalidate(name);
  }

  function invalidate(name: CacheName): void {
    const cache = caches.get(cacheKey(name));
    if (cache !== undefined) cache.writes.count++;
  }

  /** Never negative, even when the clock was set back. */
  function ageOf({ createdAtMs }: Snapshot): number {
    return Math.max(0, now() - createdAtMs);
  }

  function openTable(definition: CacheDefinition): TableCache {
    const cache: TableCache = {
      definition,
      isGone: false,
      label: `${definition.name.schema}.${definition.name.table}`,
      due: scheduledTask(() => attempts.begin(cache)),
      marks: marks.of(definition.name),
      writes: { count: 0 },
      running: undefined,
      waiting: undefined,
      current: undefined,
      older: [],
      seen: 0,
      lateFrom: Number.POSITIVE_INFINITY,
      failures: 0,
      error: undefined,
    };
    return cache;
  }

  function setCurrent(cache: TableCache, snapshot: Snapshot): void {
    const { current } = cache;
    // A refresh that found nothing new may return the same snapshot.
    if (current?.snapshot.uid === snapshot.uid) return;
    // A template that changes its own table has overwritten the previous snapshot.
    if (current !== undefined && current.snapshot.physicalTable !== snapshot.physicalTable) cache.older.push(current);
    cache.current = leases.hold(snapshot);
  }

  function made(cache: TableCache, snapshot: Snapshot, { writes, beganAt = schedule.time() }: Attempt): void {
    const { label: name, definition } = cache;
    const ms = schedule.time() - beganAt;
    setCurrent(cache, snapshot);
    cache.seen = writes;
    cache.lateFrom = schedule.time() + freshForMs(definition.scheduleMs, ms);
    if (cache.failures > 0) report({ kind: "cache-refresh-works", cache: name });
    cache.failures = 0;
    cache.error = undefined;
    report({ kind: "cache-refreshed", cache: name, mode: definition.mode.kind, rows: snapshot.rows, ms });
    if (definition.scheduleMs === undefined) schedule.clear(cache.due);
    else schedule.set(cache.due, timing.next(definition.scheduleMs, ms));
  }

  function failed(cache: TableCache, failure: RequestFailure, attempt: Attempt): Promise<void> | undefined {
    // Interrupted by shutdown: not a failure.
    if (attempt.signal.aborted) return undefined;
    const { definition } = cache;
    const message = reasonOf(failure);
    cache.failures++;
    const retryMs = timing.retry(definition.scheduleMs, cache.failures);
    schedule.set(cache.due, retryMs);
    if (cache.error !== message) report({ kind: "cache-refresh-failed", cache: cache.label, message, retryMs });
    cache.error = message;
    return store.recordFailure({
      name: definition.name,
      mode: definition.mode.kind,
      status: "error",
      message,
      rows: undefined,
      snapshot: undefined,
      startedAtMs: attempt.startedAtMs,
      durationMs: schedule.time() - (attempt.beganAt ?? schedule.time()),
    });
  }

  function retireOld(cache: TableCache): void {
    const { keepLast, maxAgeMs = Number.POSITIVE_INFINITY } = cache.definition.retention;
    const { older } = cache;
    if (older.length === 0) return;
    const surplus = older.length - (keepLast - 1);
    const isKept = ({ snapshot }: HeldSnapshot, index: number): boolean =>
      index >= surplus && now() - snapshot.createdAtMs <= maxAgeMs;
    cache.older = older.filter(isKept);
    for (const [index, held] of older.entries()) if (!isKept(held, index)) leases.retire(held);
  }

  function isStale(cache: TableCache): boolean {
    return cache.seen !== cache.writes.count;
  }

  function isLate({ lateFrom }: TableCache): boolean {
    return schedule.time() > lateFrom;
  }

  function leaseOf(cache: TableCache, held: HeldSnapshot, state: Lease["state"]): Lease {
    return leases.lease(held, state, () => cache.current === held && !isStale(cache) && !isLate(cache));
  }

  function leaseAfter(cache: TableCache, outcome: RefreshOutcome): Lease {
    const { current } = cache;
    if (outcome.kind === "failed" && current === undefined) throw outcome.failure;
    if (current === undefined) throw new Error("a refresh that worked has made a snapshot");
    return leaseOf(cache, current, outcome.kind === "made" ? "miss" : "stale");
  }

  function tableOf(name: CacheName): TableCache {
    const cache = caches.get(cacheKey(name));
    if (cache === undefined) throw new RequestFailure({ kind: "not-found" });
    return cache;
  }

  /** Waits for a refresh, which runs to its end even if callers are cancelled. */
  function refreshed<T>(
    cache: TableCache,
    { signal, refresh }: { readonly signal: AcquireOptions["signal"] | undefined; readonly refresh: boolean },
    take: (outcome: RefreshOutcome) => T,
  ): Promise<T> {
    return attempts.wait(cache, { priority: "read", newer: refresh, signal, endsWithWaiters: false, take });
  }

  return {
    async acquire(name, options) {
      const cache = tableOf(name);
      const { current } = cache;
      if (!options.refresh && current !== undefined && !isStale(cache))
        return leaseOf(cache, current, isLate(cache) ? "stale" : "hit");
      return await refreshed(cache, options, (outcome) => leaseAfter(cache, outcome));
    },
    async beginWrite(name, action) {
      const cache = caches.get(cacheKey(name));
      return cache === undefined ? () => {} : await cache.marks.begin(action);
    },
    invalidate,
    async refreshAfterWrite(name) {
      const cache = caches.get(cacheKey(name));
      if (cache === undefined) return;
      // Until it is done, other reads get the old rows.
      await refreshed(cache, { signal: undefined, refresh: true }, (outcome) => {
        if (outcome.kind === "failed") cache.writes.count++;
      });
    },
    async refresh(name, signal) {
      const cache = tableOf(name);
      return await refreshed(cache, { signal, refresh: true }, (outcome) => {
        if (outcome.kind === "failed") throw outcome.failure;
        if (cache.current === undefined) throw new Error("a refresh that worked has made a snapshot");
        return cache.current.snapshot;
      });
    },
    statuses: () => activeCaches().map(statusOf),
    start,
    redefine(next, found) {
      const added = new Map<string, TableCache>();
      for (const cache of caches.values()) cache.isGone = true;
      for (const definition of next) {
        const key = cacheKey(definition.name);
        const cache = caches.get(key) ?? openTable(definition);
        if (!caches.has(key)) added.set(key, cache);
        else if (!isSameDefinition(cache.definition, definition)) redefineOne(cache, definition);
        cache.isGone = false;
        caches.set(key, cache);
      }
      fill(added, found);
      markOutdated(found);
      for (const cache of caches.values()) if (cache.isGone) schedule.clear(cache.due);
      start();
    },
    warmUp: (progress) => warmUp(activeCaches(), attempts, progress),
    sweep() {
      for (const cache of caches.values()) retireOld(cache);
    },
    adopt(snapshots) {
      for (const cache of caches.values()) {
        const newest = newestOf(snapshots, cache.definition.name);
        if (newest === undefined || cache.running !== undefined) continue;
        if (newest.id <= (cache.current?.snapshot.id ?? 0)) continue;
        setCurrent(cache, newest);
        cache.lateFrom = schedule.time() - ageOf(newest) + freshForMs(cache.definition.scheduleMs, 0);
        retireOld(cache);
      }
    },
  };

  function activeCaches(): readonly TableCache[] {
    return [...caches.values()].filter(({ isGone }) => !isGone);
  }

  function start(): void {
    for (const cache of activeCaches()) {
      const { scheduleMs } = cache.definition;
      if (cache.marks.owesRefresh()) attempts.begin(cache);
      if (scheduleMs === undefined || cache.due.heapIndex >= 0) continue;
      const ageMs = cache.current && ageOf(cache.current.snapshot);
      schedule.set(cache.due, timing.first(scheduleMs, ageMs ?? 0));
    }
  }

  function redefineOne(cache: TableCache, definition: CacheDefinition): void {
    cache.definition = definition;
    cache.writes.count++;
    cache.failures = 0;
    cache.error = undefined;
    cache.lateFrom = schedule.time() + freshForMs(definition.scheduleMs, 0);
    schedule.clear(cache.due);
  }

  function statusOf(cache: TableCache): CacheStatus {
    const { definition, current, older, due } = cache;
    const remaining = schedule.remaining(due) ?? ((cache.running ?? cache.waiting) ? 0 : undefined);
    return {
      name: definition.name,
      mode: definition.mode.kind,
      snapshots: older.length + (current === undefined ? 0 : 1),
      rows: current?.snapshot.rows,
      createdAtMs: current?.snapshot.createdAtMs,
      isStale: current !== undefined && (isStale(cache) || isLate(cache)),
      nextRefreshAtMs: remaining === undefined ? undefined : now() + remaining,
      error: cache.error,
    };
  }
}
