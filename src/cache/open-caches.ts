import type { Report, ServiceEvent } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { After } from "../time-limit.ts";
import { withTimeLimit } from "../time-limit.ts";
import type { CacheDefinition } from "./cache.ts";
import type { Caches } from "./caches.ts";
import type { Coordination, Sharing } from "./coordination.ts";
import { openLeases } from "./leases.ts";
import { openTableCaches } from "./open-table-caches.ts";
import { openRefreshQueue } from "./refresh-queue.ts";
import { openResultCaches } from "./result-cache.ts";
import { afterMs, openSchedule, scheduledTask } from "./schedule.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { loadStored } from "./table-caches.ts";
import { openTiming } from "./timing.ts";
import { openWriteMarks } from "./write-marks.ts";

export interface CachesOptions {
  readonly store: SnapshotStore;
  readonly definitions: readonly CacheDefinition[];
  /** Milliseconds since 1970. The clock may be changed while the service runs. */
  readonly now: () => number;
  readonly after?: After;
  readonly random?: () => number;
  readonly report: Report;
  readonly maxConcurrentRefreshes?: number;
  /** The limit for all result caches together. */
  readonly maxBytes?: number;
  /** Whether empty caches are filled at startup. */
  readonly warmUp: boolean;
  /** Set when other processes share the catalog. */
  readonly sharing?: Sharing | undefined;
}

/** How often a process looks for snapshots of other processes. */
const ADOPT_EVERY_MS = 2_000;

const SWEEP_EVERY_MS = 60 * 60 * 1000;
/** How long shutdown waits for results and marks to be removed. What remains does no harm. */
const CLOSE_WITHIN_MS = 5_000;

/** Opens every cache with its existing snapshots, which are served immediately. */
export async function openCaches({
  store,
  definitions,
  now,
  after = afterMs,
  random = Math.random,
  report,
  maxConcurrentRefreshes = 2,
  maxBytes = 256 * 1024 * 1024,
  warmUp,
  sharing,
}: CachesOptions): Promise<Caches> {
  const stored = await loadStored(store, definitions);
  const schedule = openSchedule({ now, after });
  const leases = openLeases({ store, report: reportWhileOpen });
  const queue = openRefreshQueue(maxConcurrentRefreshes);
  const timing = openTiming(random);
  const marks = openWriteMarks({
    markStore: store.marks,
    time: schedule.time,
    isShared: sharing !== undefined,
    report: reportWhileOpen,
  });
  const coordination: Coordination = {
    store,
    queue,
    schedule,
    leases,
    timing,
    marks,
    now,
    report: reportWhileOpen,
    sharing,
  };
  const tables = openTableCaches(definitions, stored, coordination);
  const results = openResultCaches(maxBytes, coordination);
  const sweepTask = scheduledTask(sweep);
  const adoptTask = scheduledTask(() => void adoptFromOthers());
  let isClosed = false;

  /** Failures during shutdown are not reported. */
  function reportWhileOpen(event: ServiceEvent): void {
    if (!isClosed) report(event);
  }

  function sweep(): void {
    tables.sweep();
    void leases.flush();
    schedule.set(sweepTask, SWEEP_EVERY_MS);
  }

  async function adoptFromOthers(): Promise<void> {
    // On failure, the next check retries; the current rows stay.
    const snapshots = await store.load().catch(() => []);
    if (isClosed) return;
    tables.adopt(snapshots);
    schedule.set(adoptTask, ADOPT_EVERY_MS);
  }

  function whileOpen<T>(work: () => Promise<T>): Promise<T> {
    return isClosed ? Promise.reject(new RequestFailure({ kind: "draining" })) : work();
  }

  return {
    acquire: (name, options) => whileOpen(() => tables.acquire(name, options)),
    acquireResult: (key, result, options) => whileOpen(() => results.acquireResult(key, result, options)),
    beginWrite: (name, action) => whileOpen(() => tables.beginWrite(name, action)),
    invalidate(name) {
      tables.invalidate(name);
      results.invalidate(name);
      reportWhileOpen({ kind: "cache-invalidated", cache: `${name.schema}.${name.table}` });
    },
    async refreshAfterWrite(name) {
      await Promise.all([tables.refreshAfterWrite(name), results.refreshAfterWrite(name)]);
    },
    refresh: (name, signal) => whileOpen(() => tables.refresh(name, signal)),
    async redefine(next) {
      const found = await loadStored(store, next);
      if (!isClosed) tables.redefine(next, found);
    },
    statuses: () => [...tables.statuses(), ...results.statuses()],
    async collectGarbage() {
      const before = leases.droppedCount();
      tables.sweep();
      await leases.flush();
      return leases.droppedCount() - before;
    },
    start() {
      schedule.start();
      sweep();
      tables.start();
      if (sharing !== undefined) schedule.set(adoptTask, ADOPT_EVERY_MS);
      if (warmUp) tables.warmUp(reportTenths);
    },
    async close() {
      isClosed = true;
      schedule.close();
      await queue.close();
      results.clear();
      const removals = Promise.all([leases.close(), marks.close()]).then(() => {});
      await withTimeLimit(removals, CLOSE_WITHIN_MS, () => {}, after);
    },
  };

  /** Reports the start, the end and about ten steps between, so that a thousand caches do not log a thousand lines. */
  function reportTenths(done: number, total: number, failures: number): void {
    if (done === total || done % Math.ceil(total / 10) === 0)
      reportWhileOpen({ kind: "cache-warm-up", done, total, failed: failures });
  }
}
