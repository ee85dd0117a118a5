import type { RefreshTarget } from "./attempts.ts";
import type { CacheDefinition, Snapshot } from "./cache.ts";
import type { Caches } from "./caches.ts";
import type { HeldSnapshot } from "./leases.ts";
import type { ScheduledTask } from "./schedule.ts";

/** The state of a cache table. */
export interface TableCache extends RefreshTarget {
  definition: CacheDefinition;
  /** No endpoint of the current project uses it; running calls may. */
  isGone: boolean;
  readonly label: string;
  readonly due: ScheduledTask;
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

/** All cache tables: caches with a refresh template. */
export interface TableCaches
  extends Pick<Caches, "acquire" | "invalidate" | "refresh" | "refreshAfterWrite" | "statuses"> {
  /** Schedules every cache that has a schedule. */
  start(): void;
  /** Fills empty caches; `progress` is called at the start and after each. */
  warmUp(progress: (done: number, total: number, failed: number) => void): void;
  /** Retires what is too old. */
  sweep(): void;
  /** Continues with other definitions; `loaded` are the snapshots of the store. */
  redefine(definitions: readonly CacheDefinition[], loaded: readonly Snapshot[]): void;
  /** Adopts the snapshots of other processes. */
  adopt(snapshots: readonly Snapshot[]): void;
}
