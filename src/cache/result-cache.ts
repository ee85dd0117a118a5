import type { RequestFailure } from "../failure.ts";
import { type Attempt, openAttempts, type RefreshOutcome, type RefreshTarget } from "./attempts.ts";
import { type CacheName, cacheKey, type Snapshot } from "./cache.ts";
import type { AcquireOptions, CacheStatus, Caches, Lease } from "./caches.ts";
import type { Coordination } from "./coordination.ts";
import type { HeldSnapshot, SizeTracker } from "./leases.ts";
import { type LruItem, mostRecentlyUsed, openLruOrder } from "./lru-order.ts";
import { reasonOf } from "./refresh-failure.ts";
import { copyInput, inputBytes, LARGEST_INPUT_BYTES, MAX_INPUT_BYTES } from "./result-input.ts";
import { type ScheduledTask, scheduledTask } from "./schedule.ts";
import type { ScheduledResult } from "./snapshot-store.ts";
import { freshForMs } from "./timing.ts";

/** The results of one cache. */
interface Group {
  readonly name: CacheName;
  readonly label: string;
  readonly writes: { count: number };
  readonly entries: Map<string, Entry>;
  /** How many entries have old rows because their refresh failed. */
  failingEntries: number;
  /** Why the last failed refresh failed. */
  error: string | undefined;
}

/** The rows for one set of inputs. */
interface Entry extends RefreshTarget, LruItem {
  readonly group: Group;
  readonly key: string;
  readonly refreshTask: ScheduledTask;
  /** Its size without the rows. */
  readonly inputBytes: number;
  result: ScheduledResult;
  held: HeldSnapshot | undefined;
  /** How many writes the rows include. */
  includedWrites: number;
  /** When the rows become too old, in schedule time. */
  lateFrom: number;
  /** `lastUse` when the current or last refresh began. */
  useAtStart: number;
  /** `lastUse` when the refresh that read the rows began. */
  useBefore: number;
  /** When the rows were last used, in schedule time. */
  usedAt: number;
  failures: number;
}

/** Result caches: rows of calls by their inputs. The least recently used are evicted. */
export interface ResultCaches extends Pick<Caches, "acquireResult" | "invalidate" | "refreshAfterWrite" | "statuses"> {
  /** Retires every table. */
  clear(): void;
}

/** Smaller tables count as this size, which limits the number of tables. */
const MIN_TABLE_BYTES = 1024;
/** How many results one write refreshes; the others wait for their next read. */
const MAX_REFRESHES_AFTER_WRITE = 20;
/** A write refreshes only results that were used within this time. */
const RECENT_MS = 5 * 60_000;

export function openResultCaches(
  maxBytes: number,
  { store, queue, schedule, leases, timing, now, report }: Coordination,
): ResultCaches {
  const groups = new Map<string, Group>();
  const lru = openLruOrder<Entry>();
  /** The size of all tables, including those that only readers still hold. */
  let bytes = 0;
  /** The size of all entries without their rows. */
  let totalInputBytes = 0;
  const sizeTracker: SizeTracker = {
    onIdle: evict,
    onRetired(snapshot) {
      bytes -= bytesOf(snapshot);
    },
  };
  const attempts = openAttempts<Entry>({
    queue,
    now,
    time: schedule.time,
    handlers: { make, onMade, onFailed, onSettled },
  });

  function make(entry: Entry, signal: AcquireOptions["signal"]): Promise<Snapshot> {
    entry.useAtStart = entry.lastUse;
    return store.materialize(entry.result, signal);
  }

  function groupOf(name: CacheName): Group {
    const key = cacheKey(name);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const label = `${name.schema}.${name.table}`;
    const group: Group = { name, label, writes: { count: 0 }, entries: new Map(), failingEntries: 0, error: undefined };
    groups.set(key, group);
    return group;
  }

  function entryOf(key: string, result: ScheduledResult): Entry {
    const group = groupOf(result.name);
    const known = group.entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      group,
      key,
      inputBytes: inputBytes(key, result),
      result,
      refreshTask: scheduledTask(() => refreshOrForget(entry)),
      writes: group.writes,
      running: undefined,
      waiting: undefined,
      held: undefined,
      includedWrites: 0,
      lateFrom: 0,
      useAtStart: 0,
      useBefore: 0,
      usedAt: 0,
      lastUse: 0,
      placedUse: 0,
      failures: 0,
    };
    group.entries.set(key, entry);
    totalInputBytes += entry.inputBytes;
    return entry;
  }

  /** Forgets the rows of an entry. Current readers keep them; the next call runs the query again. */
  function forget(entry: Entry): void {
    if (entry.held !== undefined) leases.retire(entry.held);
    entry.held = undefined;
    clearFailure(entry);
    schedule.clear(entry.refreshTask);
    lru.remove(entry);
    const isIdle = entry.running === undefined && entry.waiting === undefined;
    if (isIdle && entry.group.entries.delete(entry.key)) totalInputBytes -= entry.inputBytes;
  }

  function evict(): void {
    const fits = (): boolean => bytes <= maxBytes && totalInputBytes <= MAX_INPUT_BYTES;
    if (fits()) return;
    for (const entry of lru.oldestFirst()) {
      if (entry.held !== undefined && entry.held.leases === 0) forget(entry);
      if (fits()) return;
    }
  }

  /** Called when a refresh is due: entries that are used are refreshed, others are removed. */
  function refreshOrForget(entry: Entry): void {
    const { scheduleMs } = entry.result;
    const wasRead = entry.lastUse > entry.useBefore;
    // While refreshes fail, the entry is kept as long as it is used.
    const wasReadLately = schedule.time() <= entry.usedAt + freshForMs(scheduleMs, 0);
    if (wasRead && wasReadLately) attempts.begin(entry);
    else forget(entry);
  }

  function onMade(entry: Entry, snapshot: Snapshot, { includedWrites, startedAt = schedule.time() }: Attempt): void {
    const { group, result } = entry;
    const ms = schedule.time() - startedAt;
    const isKept = bytesOf(snapshot) <= maxBytes && entry.inputBytes <= LARGEST_INPUT_BYTES;
    if (isKept) bytes += bytesOf(snapshot);
    if (entry.held !== undefined) leases.retire(entry.held);
    entry.held = leases.track(snapshot, isKept ? sizeTracker : undefined);
    entry.includedWrites = includedWrites;
    entry.lateFrom = schedule.time() + freshForMs(result.scheduleMs, ms);
    entry.useBefore = entry.useAtStart;
    lru.add(entry);
    if (clearFailure(entry)) report({ kind: "cache-refresh-works", cache: group.label });
    report({ kind: "cache-refreshed", cache: group.label, mode: "results", rows: snapshot.rows, ms });
    if (result.scheduleMs !== undefined) schedule.set(entry.refreshTask, timing.next(result.scheduleMs, ms));
  }

  function onFailed(entry: Entry, failure: RequestFailure, { signal }: Attempt): void {
    // All callers were cancelled, or the service shuts down.
    if (signal.aborted) return;
    // The template may have rejected the call because this caller must no longer see the rows.
    if (failure.failure.kind === "refused-by-template") forget(entry);
    // Without old rows, waiters get the failure itself.
    if (entry.held === undefined) return;
    const { group, result } = entry;
    if (entry.failures++ === 0) group.failingEntries++;
    const retryMs = result.scheduleMs === undefined ? undefined : timing.retry(result.scheduleMs, entry.failures);
    if (retryMs !== undefined) schedule.set(entry.refreshTask, retryMs);
    const message = reasonOf(failure);
    if (group.error !== message) report({ kind: "cache-refresh-failed", cache: group.label, message, retryMs });
    group.error = message;
  }

  /** Returns whether it was the last failing entry of its cache. */
  function clearFailure(entry: Entry): boolean {
    const { group } = entry;
    if (entry.failures === 0) return false;
    entry.failures = 0;
    group.failingEntries--;
    if (group.failingEntries > 0) return false;
    group.error = undefined;
    return true;
  }

  function onSettled(entry: Entry): void {
    const { held, result, refreshTask, waiting } = entry;
    // No rows, or too large to cache. Waiters already have their leases.
    if (held === undefined || held.sizeTracker === undefined) forget(entry);
    // Its refresh became due while another one ran, whose callers were cancelled.
    else if (result.scheduleMs !== undefined && refreshTask.heapIndex < 0 && waiting === undefined)
      schedule.set(refreshTask, timing.retry(result.scheduleMs, 1));
    evict();
  }

  function isLate({ lateFrom }: Entry): boolean {
    return schedule.time() > lateFrom;
  }

  /** Counts as a use: the caller reuses the rows without a new lease. */
  function isCurrent(entry: Entry, held: HeldSnapshot): boolean {
    if (entry.held !== held || entry.includedWrites !== entry.writes.count) return false;
    const time = schedule.time();
    if (time > entry.lateFrom) return false;
    lru.touch(entry);
    entry.usedAt = time;
    return true;
  }

  function leaseOf(entry: Entry, held: HeldSnapshot, state: Lease["state"]): Lease {
    return leases.lease(held, state, () => isCurrent(entry, held));
  }

  function leaseAfter(entry: Entry, outcome: RefreshOutcome): Lease {
    const { held } = entry;
    if (outcome.kind === "failed" && held === undefined) throw outcome.failure;
    if (held === undefined) throw new Error("the query succeeded without a table");
    return leaseOf(entry, held, outcome.kind === "succeeded" ? "miss" : "stale");
  }

  return {
    async acquireResult(key, result, { signal, refresh }) {
      if (signal.aborted) throw signal.reason;
      const entry = entryOf(key, result);
      const { held } = entry;
      entry.usedAt = schedule.time();
      lru.use(entry);
      if (!refresh && held !== undefined && entry.includedWrites === entry.writes.count)
        return leaseOf(entry, held, isLate(entry) ? "stale" : "hit");
      entry.result = copyInput(result);
      const onEnd = (outcome: RefreshOutcome): Lease => leaseAfter(entry, outcome);
      return await attempts.wait(entry, { priority: "call", mustBeNew: refresh, signal, endsWithWaiters: true, onEnd });
    },
    invalidate(name) {
      const group = groups.get(cacheKey(name));
      if (group !== undefined) group.writes.count++;
    },
    async refreshAfterWrite(name) {
      const group = groups.get(cacheKey(name));
      if (group === undefined) return;
      group.writes.count++;
      const since = schedule.time() - RECENT_MS;
      const isRecent = ({ held, usedAt }: Entry): boolean => held !== undefined && usedAt >= since;
      const request = {
        priority: "read",
        mustBeNew: false,
        signal: undefined,
        endsWithWaiters: false,
        onEnd() {},
      } as const;
      const recent = mostRecentlyUsed(group.entries.values(), MAX_REFRESHES_AFTER_WRITE, isRecent);
      await Promise.all(recent.map((entry) => attempts.wait(entry, request)));
    },
    statuses: () => [...groups.values()].map(statusOf),
    clear() {
      for (const { entries } of groups.values()) for (const entry of [...entries.values()]) forget(entry);
    },
  };

  function statusOf({ name, writes, entries, error }: Group): CacheStatus {
    let snapshots = 0;
    let rows = 0;
    let oldest = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    let isStale = false;
    for (const entry of entries.values()) {
      if (entry.held === undefined) continue;
      const { snapshot } = entry.held;
      snapshots++;
      rows += snapshot.rows;
      oldest = Math.min(oldest, snapshot.createdAtMs);
      next = Math.min(next, schedule.remaining(entry.refreshTask) ?? next);
      isStale ||= entry.includedWrites !== writes.count || isLate(entry);
    }
    const createdAtMs = snapshots === 0 ? undefined : oldest;
    const nextRefreshAtMs = Number.isFinite(next) ? now() + next : undefined;
    return { name, mode: "results", snapshots, rows, createdAtMs, isStale, nextRefreshAtMs, error };
  }
}

function bytesOf({ bytes }: Snapshot): number {
  return Math.max(bytes, MIN_TABLE_BYTES);
}
