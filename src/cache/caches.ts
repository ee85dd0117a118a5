import type { StopSignal } from "../engines/engine.ts";
import type { CacheDefinition, CacheName, Snapshot } from "./cache.ts";
import type { ScheduledResult } from "./snapshot-store.ts";
import type { WriteAction } from "./stale-marks.ts";
import type { EndWrite } from "./write-marks.ts";

/** A snapshot in use: it is not dropped before it is released. */
export interface Lease {
  readonly snapshot: Snapshot;
  /** `hit`: it was cached. `miss`: the call waited for it to be made. `stale`: it is too old, or its refresh failed. */
  readonly state: "hit" | "miss" | "stale";
  /** Whether a call made now would be a hit on this same snapshot. */
  isCurrent(): boolean;
  release(): void;
}

export interface AcquireOptions {
  readonly signal: StopSignal;
  /** The caller wants newer rows than the cached ones. */
  readonly refresh: boolean;
}

export interface CacheStatus {
  readonly name: CacheName;
  readonly mode: "full" | "append" | "merge" | "results";
  readonly snapshots: number;
  readonly rows: number | undefined;
  readonly createdAtMs: number | undefined;
  /** Its rows are too old, or a write invalidated them. */
  readonly isStale: boolean;
  readonly nextRefreshAtMs: number | undefined;
  /** The error of the last refresh, if it failed. */
  readonly error: string | undefined;
}

/** All caches of a project. */
export interface Caches {
  /**
   * Leases the snapshot of a cache table. Refreshes it first if it has no snapshot or was invalidated, or if `refresh` is set.
   * Rejects with a RequestFailure.
   */
  acquire(name: CacheName, options: AcquireOptions): Promise<Lease>;
  /** The same for a result cache; `key` identifies the inputs of the call. */
  acquireResult(key: string, result: ScheduledResult, options: AcquireOptions): Promise<Lease>;
  /**
   * Called before a write that invalidates or refreshes a cache, so that a crash at any time leaves no old rows that count as current.
   * The returned function is called when the write is over, before `invalidate` or `refreshAfterWrite`. Rejects with a
   * RequestFailure.
   */
  beginWrite(name: CacheName, action: WriteAction): Promise<EndWrite>;
  /** Invalidates a cache after a committed write: the next read refreshes it. */
  invalidate(name: CacheName): void;
  /** Refreshes a cache after a committed write. Never rejects: a failed refresh is reported and invalidates the cache. */
  refreshAfterWrite(name: CacheName): Promise<void>;
  /** Refreshes a cache now, whatever its age. Rejects with a RequestFailure. */
  refresh(name: CacheName, signal: StopSignal): Promise<Snapshot>;
  statuses(): readonly CacheStatus[];
  /** After a reload: unchanged caches stay valid, others are refreshed by their next read. */
  redefine(definitions: readonly CacheDefinition[]): Promise<void>;
  /** Drops expired snapshots now and returns how many were dropped. */
  collectGarbage(): Promise<number>;
  /** Starts warm-up and scheduled refreshes. */
  start(): void;
  close(): Promise<void>;
}
