import type { RefreshTarget } from "./attempts.ts";
import { type CacheDefinition, type CacheName, cacheKey, type Snapshot } from "./cache.ts";
import type { Caches } from "./caches.ts";
import type { HeldSnapshot } from "./leases.ts";
import type { ScheduledTask } from "./schedule.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import type { StaleMark } from "./stale-marks.ts";
import type { CacheMarks } from "./write-marks.ts";

/** What the store holds when caches are opened or redefined. */
export interface StoredCaches {
  /** The current one of each cache comes last. */
  readonly snapshots: readonly Snapshot[];
  readonly marks: readonly StaleMark[];
  /** Their snapshots were made by other definitions. */
  readonly outdated: readonly CacheName[];
}

export function newestOf(snapshots: readonly Snapshot[], name: CacheName): Snapshot | undefined {
  // The current one of each comes last.
  return snapshots.findLast((snapshot) => cacheKey(snapshot.name) === cacheKey(name));
}

export async function loadStored(store: SnapshotStore, definitions: readonly CacheDefinition[]): Promise<StoredCaches> {
  return {
    snapshots: await store.load(),
    marks: (await store.marks?.load()) ?? [],
    outdated: await store.outdated(definitions),
  };
}

/** The state of a cache table. */
export interface TableCache extends RefreshTarget {
  definition: CacheDefinition;
  /** No endpoint of the current project uses it; running calls may. */
  isGone: boolean;
  readonly label: string;
  readonly due: ScheduledTask;
  readonly marks: CacheMarks;
  current: HeldSnapshot | undefined;
  /** Retained snapshots besides the current one, the oldest first. */
  older: HeldSnapshot[];
  /** How many writes the current one includes. */
  seen: number;
  /** When the current rows become too old, in schedule time. */
  lateFrom: number;
  /** Failed refreshes since the last success. */
  failures: number;
  error: string | undefined;
}

export type WarmUpProgress = (done: number, total: number, failed: number) => void;

/** All cache tables: caches with a refresh template. */
export interface TableCaches
  extends Pick<Caches, "acquire" | "beginWrite" | "invalidate" | "refresh" | "refreshAfterWrite" | "statuses"> {
  /** Schedules every cache that has a schedule. */
  start(): void;
  /** Fills empty caches; `progress` is called at the start and after each. */
  warmUp(progress: WarmUpProgress): void;
  /** Retires what is too old. */
  sweep(): void;
  /** Continues with other definitions; `stored` is what the store holds of them. */
  redefine(definitions: readonly CacheDefinition[], stored: StoredCaches): void;
  /** Adopts the snapshots of other processes. */
  adopt(snapshots: readonly Snapshot[]): void;
}
