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
      make: async (cache, signal, isBackground) => {
        const { definition, current } = cache;
        // Of the processes that share the catalog, the leader runs scheduled refreshes; the others adopt its snapshots.
        if (isBackground && sharing?.leads() === false && current !== undefined && !lacksWrites(cache)) {
          return newestOf(await store.load(), definition.name) ?? current.snapshot;
        }
        for (const name of definition.reads ?? []) await ensureFilled(name, signal);
        return await cache.marks.runRefresh(() => store.refresh(definition, current?.snapshot, signal));
      },
      onMade,
      onFailed,
      onSettled: retireOld,
    },
  });
  const caches = new Map<string, TableCache>();
  for (const definition of definitions) caches.set(cacheKey(definition.name), openTable(definition));
  restore(caches, stored);
  markOutdated(stored);

  /** Fills a table that a running refresh reads. That refresh already counts in the queue, so this one starts immediately. */
  async function ensureFilled(name: CacheName, signal: AcquireOptions["signal"]): Promise<void> {
    const cache = tableOf(name);
    if (cache.current !== undefined && !lacksWrites(cache)) return;
    await attempts.wait(cache, {
      priority: "call",
      mustBeNew: false,
      signal,
      endsWithWaiters: false,
      onEnd(outcome) {
        if (outcome.kind === "failed" && cache.current === undefined) throw outcome.failure;
      },
    });
  }

  /** Adopts what the store holds for these caches. */
  function restore(opened: ReadonlyMap<string, TableCache>, { snapshots, marks: storedMarks }: StoredCaches): void {
    for (const mark of storedMarks) {
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

  /** Rows that do not match their definition are stale: the next read waits for new ones. */
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
      refreshTask: scheduledTask(() => attempts.begin(cache)),
      marks: marks.forCache(definition.name),
      writes: { count: 0 },
      running: undefined,
      waiting: undefined,
      current: undefined,
      older: [],
      includedWrites: 0,
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
    cache.current = leases.track(snapshot);
  }

  function onMade(cache: TableCache, snapshot: Snapshot, attempt: Attempt): void {
    const { label: name, definition } = cache;
    const ms = schedule.time() - (attempt.startedAt ?? schedule.time());
    setCurrent(cache, snapshot);
    cache.includedWrites = attempt.includedWrites;
    cache.lateFrom = schedule.time() + freshForMs(definition.scheduleMs, ms);
    if (cache.failures > 0) report({ kind: "cache-refresh-works", cache: name });
    cache.failures = 0;
    cache.error = undefined;
    report({ kind: "cache-refreshed", cache: name, mode: definition.mode.kind, rows: snapshot.rows, ms });
    if (definition.scheduleMs === undefined) schedule.clear(cache.refreshTask);
    else schedule.set(cache.refreshTask, timing.next(definition.scheduleMs, ms));
  }

  function onFailed(cache: TableCache, failure: RequestFailure, attempt: Attempt): Promise<void> | undefined {
    // Interrupted by shutdown: not a failure.
    if (attempt.signal.aborted) return undefined;
    const { definition } = cache;
    const message = reasonOf(failure);
    cache.failures++;
    const retryMs = timing.retry(definition.scheduleMs, cache.failures);
    schedule.set(cache.refreshTask, retryMs);
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
      durationMs: schedule.time() - (attempt.startedAt ?? schedule.time()),
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

  function lacksWrites(cache: TableCache): boolean {
    return cache.includedWrites !== cache.writes.count;
  }

  function isLate({ lateFrom }: TableCache): boolean {
    return schedule.time() > lateFrom;
  }

  function leaseOf(cache: TableCache, held: HeldSnapshot, state: Lease["state"]): Lease {
    return leases.lease(held, state, () => cache.current === held && !lacksWrites(cache) && !isLate(cache));
  }

  function leaseAfter(cache: TableCache, outcome: RefreshOutcome): Lease {
    const { current } = cache;
    if (outcome.kind === "failed" && current === undefined) throw outcome.failure;
    if (current === undefined) throw new Error("the refresh succeeded without a snapshot");
    return leaseOf(cache, current, outcome.kind === "succeeded" ? "miss" : "stale");
  }

  function tableOf(name: CacheName): TableCache {
    const cache = caches.get(cacheKey(name));
    if (cache === undefined) throw new RequestFailure({ kind: "not-found" });
    return cache;
  }

  /** Waits for a refresh, which runs to its end even if callers are cancelled. */
  function waitForRefresh<T>(
    cache: TableCache,
    { signal, mustBeNew }: { readonly signal: AcquireOptions["signal"] | undefined; readonly mustBeNew: boolean },
    onEnd: (outcome: RefreshOutcome) => T,
  ): Promise<T> {
    return attempts.wait(cache, { priority: "read", mustBeNew, signal, endsWithWaiters: false, onEnd });
  }

  return {
    async acquire(name, { signal, refresh }) {
      const cache = tableOf(name);
      const { current } = cache;
      if (!refresh && current !== undefined && !lacksWrites(cache))
        return leaseOf(cache, current, isLate(cache) ? "stale" : "hit");
      return await waitForRefresh(cache, { signal, mustBeNew: refresh }, (outcome) => leaseAfter(cache, outcome));
    },
    async beginWrite(name, action) {
      const cache = caches.get(cacheKey(name));
      return cache === undefined ? () => {} : await cache.marks.begin(action);
    },
    invalidate,
    async refreshAfterWrite(name) {
      const cache = caches.get(cacheKey(name));
      if (cache === undefined) return;
      // Until the refresh is done, reads get the old rows.
      await waitForRefresh(cache, { signal: undefined, mustBeNew: true }, (outcome) => {
        if (outcome.kind === "failed") cache.writes.count++;
      });
    },
    async refresh(name, signal) {
      const cache = tableOf(name);
      return await waitForRefresh(cache, { signal, mustBeNew: true }, (outcome) => {
        if (outcome.kind === "failed") throw outcome.failure;
        if (cache.current === undefined) throw new Error("the refresh succeeded without a snapshot");
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
      restore(added, found);
      markOutdated(found);
      for (const cache of caches.values()) if (cache.isGone) schedule.clear(cache.refreshTask);
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
      if (scheduleMs === undefined || schedule.remaining(cache.refreshTask) !== undefined) continue;
      const ageMs = cache.current && ageOf(cache.current.snapshot);
      schedule.set(cache.refreshTask, timing.first(scheduleMs, ageMs ?? 0));
    }
  }

  function redefineOne(cache: TableCache, definition: CacheDefinition): void {
    cache.definition = definition;
    cache.writes.count++;
    cache.failures = 0;
    cache.error = undefined;
    cache.lateFrom = schedule.time() + freshForMs(definition.scheduleMs, 0);
    schedule.clear(cache.refreshTask);
  }

  function statusOf(cache: TableCache): CacheStatus {
    const { definition, current, older, refreshTask } = cache;
    const remaining = schedule.remaining(refreshTask) ?? ((cache.running ?? cache.waiting) ? 0 : undefined);
    return {
      name: definition.name,
      mode: definition.mode.kind,
      snapshots: older.length + (current === undefined ? 0 : 1),
      rows: current?.snapshot.rows,
      createdAtMs: current?.snapshot.createdAtMs,
      isStale: current !== undefined && (lacksWrites(cache) || isLate(cache)),
      nextRefreshAtMs: remaining === undefined ? undefined : now() + remaining,
      error: cache.error,
    };
  }
}
