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
  /** Caches whose current snapshot does not match their definition. */
  readonly outdated: readonly CacheName[];
}

/** `snapshots` lists the current one of each cache last. */
export function newestOf(snapshots: readonly Snapshot[], name: CacheName): Snapshot | undefined {
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
  /** No endpoint of the current project uses it, but calls in flight may. */
  isGone: boolean;
  readonly label: string;
  readonly refreshTask: ScheduledTask;
  readonly marks: CacheMarks;
  current: HeldSnapshot | undefined;
  /** Retained snapshots besides the current one, the oldest first. */
  older: HeldSnapshot[];
  /** How many writes the current snapshot includes. */
  includedWrites: number;
  /** When the current rows become too old, in schedule time. */
  lateFrom: number;
  /** Failed refreshes since the last success. */
  failures: number;
  error: string | undefined;
}

export type WarmUpProgress = (done: number, total: number, failures: number) => void;

/** All cache tables: caches with a refresh template. */
export interface TableCaches
  extends Pick<Caches, "acquire" | "beginWrite" | "invalidate" | "refresh" | "refreshAfterWrite" | "statuses"> {
  /** Schedules every cache that has a schedule. */
  start(): void;
  /** Fills empty caches; `progress` is called at the start and after each cache. */
  warmUp(progress: WarmUpProgress): void;
  /** Retires snapshots that are no longer retained. */
  sweep(): void;
  /** Switches to other definitions; `stored` is what the store holds for them. */
  redefine(definitions: readonly CacheDefinition[], stored: StoredCaches): void;
  /** Adopts the snapshots of other processes. */
  adopt(snapshots: readonly Snapshot[]): void;
}
