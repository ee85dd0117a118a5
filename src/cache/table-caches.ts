import type { RefreshTarget } from "./attempts.ts";
import type { CacheDefinition, CacheName, Snapshot } from "./cache.ts";
import type { AcquireOptions, CacheStatus, Lease } from "./caches.ts";
import type { HeldSnapshot } from "./leases.ts";
import type { ScheduledTask } from "./schedule.ts";

/** A cache with a refresh template, and what is known of it. */
export interface TableCache extends RefreshTarget {
  definition: CacheDefinition;
  /** No endpoint of the present project has it; calls that began before may. */
  isGone: boolean;
  readonly label: string;
  readonly due: ScheduledTask;
  current: HeldSnapshot | undefined;
  /** Those that are kept beside the current one, the oldest first. */
  older: HeldSnapshot[];
  /** How many writes the current one has seen. */
  seen: number;
  /** From when on the current rows are too old, by the time of the schedule. */
  lateFrom: number;
  /** Refreshes that failed since the last one that worked. */
  failures: number;
  error: string | undefined;
}

/** Every cache with a refresh template. */
export interface TableCaches {
  acquire(name: CacheName, acquiring: AcquireOptions): Promise<Lease>;
  invalidate(name: CacheName): void;
  refreshAfterWrite(name: CacheName): Promise<void>;
  refresh(name: CacheName, signal: AcquireOptions["signal"]): Promise<Snapshot>;
  statuses(): readonly CacheStatus[];
  /** Schedules every cache that has a schedule. */
  start(): void;
  /** Fills those that are empty; `progress` hears of the beginning and of each that is done. */
  warmUp(progress: (done: number, total: number, failed: number) => void): void;
  /** Retires what is too old. */
  sweep(): void;
  /** Goes on with other descriptions; `loaded` is what the store has. */
  redefine(definitions: readonly CacheDefinition[], loaded: readonly Snapshot[]): void;
  /** Takes over what other processes have made. */
  adopt(snapshots: readonly Snapshot[]): void;
}
