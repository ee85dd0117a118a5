import type { StopSignal } from "../engines/engine.ts";
import type { CacheDefinition, CacheName, Snapshot } from "./cache.ts";
import type { ScheduledResult } from "./snapshot-store.ts";
import type { WriteAction } from "./stale-marks.ts";
import type { EndWrite } from "./write-marks.ts";

/** A snapshot that is being read: it stays until it is released. */
export interface Lease {
  readonly snapshot: Snapshot;
  /** `hit`: it was cached. `miss`: it was made for this call. `stale`: it is too old, and a refresh is running. */
  readonly state: "hit" | "miss" | "stale";
  /** Whether a call that comes now would get the same snapshot as a hit. */
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
  readonly isStale: boolean;
  readonly nextRefreshAtMs: number | undefined;
  /** Of the last refresh, when it failed. */
  readonly error: string | undefined;
}

/** All caches of a project. */
export interface Caches {
  /** The snapshot of a cache table. An empty or stale one is refreshed first. Rejects with a RequestFailure. */
  acquire(name: CacheName, options: AcquireOptions): Promise<Lease>;
  /** The same for a result cache; `key` identifies the inputs of the call. */
  acquireResult(key: string, result: ScheduledResult, options: AcquireOptions): Promise<Lease>;
  /**
   * Called before a write that makes a cache stale, so that a crash at any time leaves no old rows that count as current. The
   * returned function is called when the write is over, before `invalidate` or `refreshAfterWrite`. Rejects with a RequestFailure.
   */
  beginWrite(name: CacheName, action: WriteAction): Promise<EndWrite>;
  /** A committed write made a cache stale: the next read refreshes it. */
  invalidate(name: CacheName): void;
  /** The same, and it is refreshed now. Never rejects: on failure it stays stale, which is reported. */
  refreshAfterWrite(name: CacheName): Promise<void>;
  /** Refreshes a cache now, whatever its age. Rejects with a RequestFailure. */
  refresh(name: CacheName, signal: StopSignal): Promise<Snapshot>;
  statuses(): readonly CacheStatus[];
  /** After a reload: unchanged caches stay valid, others are refreshed by their next read. */
  redefine(definitions: readonly CacheDefinition[]): Promise<void>;
  /** Drops snapshots beyond their retention now; returns how many. */
  collect(): Promise<number>;
  /** Starts warm-up and scheduled refreshes. */
  start(): void;
  close(): Promise<void>;
}
