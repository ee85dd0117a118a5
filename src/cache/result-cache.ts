import type { RequestFailure } from "../failure.ts";
import { type Attempt, type Ended, openAttempts, type Subject } from "./attempts.ts";
import { type CacheName, cacheKey, type Snapshot } from "./cache.ts";
import type { Acquiring, CacheStatus, Lease } from "./caches.ts";
import type { Coordination } from "./coordination.ts";
import type { Account, Held } from "./leases.ts";
import { openRecency, type Used } from "./recency.ts";
import { reasonOf } from "./refresh-failure.ts";
import { type Due, dueFor } from "./schedule.ts";
import type { ResultDefinition } from "./snapshot-store.ts";
import { isOverdue } from "./timing.ts";

export type ScheduledResult = ResultDefinition & { readonly scheduleMs: number | undefined };

/** The results of one cache. */
interface Group {
  readonly name: CacheName;
  readonly label: string;
  readonly writes: { count: number };
  readonly entries: Map<string, Entry>;
  /** Of the last refresh that nobody else hears of, when it failed. */
  error: string | undefined;
}

/** The rows of one call. */
interface Entry extends Subject, Used {
  readonly group: Group;
  readonly key: string;
  readonly due: Due;
  result: ScheduledResult;
  held: Held | undefined;
  /** How many writes the rows have seen. */
  seen: number;
  /** When the rows were read from their source, by the time of the schedule. */
  refreshedAt: number;
  /** The last use before that. */
  useBefore: number;
  /** When somebody last read them here, by the time of the schedule. */
  usedAt: number;
  failures: number;
}

/** Results of calls, by what was asked. Bounded: least recently used go first. */
export interface ResultCaches {
  acquire(key: string, result: ScheduledResult, acquiring: Acquiring): Promise<Lease>;
  invalidate(name: CacheName): void;
  refreshAfterWrite(name: CacheName): Promise<void>;
  statuses(): readonly CacheStatus[];
  /** Retires every table. */
  clear(): void;
}

/** No table is so small that any number of them can be kept. */
const LEAST_BYTES = 1024;
/** More results than these are not refreshed by one write; the others wait for their next read. */
const MOST_AFTER_WRITE = 20;

export function openResultCaches(
  maxBytes: number,
  { store, queue, schedule, leases, timing, now, report }: Coordination,
): ResultCaches {
  const groups = new Map<string, Group>();
  const recency = openRecency<Entry>();
  /** Of all tables that are there, those included that only readers still hold. */
  let bytes = 0;
  const account: Account = {
    idle: makeRoom,
    gone(snapshot) {
      bytes -= bytesOf(snapshot);
    },
  };
  const attempts = openAttempts<Entry>({
    queue,
    now,
    time: schedule.time,
    refreshing: { make: ({ result }, signal) => store.materialise(result, signal), made, failed, settled },
  });

  function groupOf(name: CacheName): Group {
    const key = cacheKey(name);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const label = `${name.schema}.${name.table}`;
    const group: Group = { name, label, writes: { count: 0 }, entries: new Map(), error: undefined };
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
      result,
      due: dueFor(() => refreshOrForget(entry)),
      writes: group.writes,
      running: undefined,
      waiting: undefined,
      held: undefined,
      seen: 0,
      refreshedAt: 0,
      useBefore: 0,
      usedAt: 0,
      lastUse: 0,
      placedUse: 0,
      failures: 0,
    };
    group.entries.set(key, entry);
    return entry;
  }

  /** Readers keep what they have; the next one makes it anew. */
  function forget(entry: Entry): void {
    if (entry.held !== undefined) leases.retire(entry.held);
    entry.held = undefined;
    schedule.clear(entry.due);
    recency.remove(entry);
    if (entry.running === undefined && entry.waiting === undefined) entry.group.entries.delete(entry.key);
  }

  function makeRoom(): void {
    if (bytes <= maxBytes) return;
    for (const entry of recency.oldestFirst()) {
      if (entry.held !== undefined && entry.held.leases === 0) forget(entry);
      if (bytes <= maxBytes) return;
    }
  }

  /** Its time has come: whoever reads it is spared the wait, and what nobody reads makes room. */
  function refreshOrForget(entry: Entry): void {
    const { scheduleMs } = entry.result;
    const wasRead = entry.lastUse > entry.useBefore;
    // While refreshes fail, it is kept as long as it is read.
    const wasReadLately = scheduleMs !== undefined && !isOverdue(scheduleMs, schedule.time() - entry.usedAt);
    if (wasRead && wasReadLately) attempts.begin(entry);
    else forget(entry);
  }

  function made(entry: Entry, snapshot: Snapshot, { writes, useBefore, beganAt = schedule.time() }: Attempt): void {
