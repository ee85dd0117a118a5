import type { StopSignal } from "../engines/engine.ts";
import type { CacheDefinition, CacheName, Snapshot } from "./cache.ts";
import type { ResultDefinition } from "./snapshot-store.ts";

/** A snapshot that somebody reads: it stays until it is released. */
export interface Lease {
  readonly snapshot: Snapshot;
  /** `hit`: it was there. `miss`: it was made for this call. `stale`: it is older than it should be, and a newer one is on its way. */
  readonly state: "hit" | "miss" | "stale";
  /** Whether a call that comes now would get the same snapshot as a hit. */
  isCurrent(): boolean;
  release(): void;
}

export interface AcquireOptions {
  readonly signal: StopSignal;
  /** The caller wants newer rows than there are. */
  readonly refresh: boolean;
}

/** What is told of one cache. */
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

/** Every cache of a project. decisions.md 8. */
export interface Caches {
  /** The snapshot of a cache with a refresh template; the first call fills it, and one that is stale is refreshed first. Rejects with a RequestFailure. */
  acquire(name: CacheName, options: AcquireOptions): Promise<Lease>;
  /** The same for the rows of one call; `key` tells it apart from others of the same cache. */
  acquireResult(
    key: string,
    result: ResultDefinition & { readonly scheduleMs: number | undefined },
    options: AcquireOptions,
  ): Promise<Lease>;
  /** A write has been committed that makes a cache old: the next read refreshes it. */
  invalidate(name: CacheName): void;
  /** The same, and it is refreshed now. Never rejects: what fails leaves it stale, and is reported. */
  refreshAfterWrite(name: CacheName): Promise<void>;
  /** Refreshes a cache now, whatever its age. Rejects with a RequestFailure. */
  refresh(name: CacheName, signal: StopSignal): Promise<Snapshot>;
  statuses(): readonly CacheStatus[];
  /** After a reload: caches that are described as before go on, others are refreshed by their next read. */
  redefine(definitions: readonly CacheDefinition[]): Promise<void>;
  /** Takes away what retention does not keep, now; how many snapshots went. */
  collect(): Promise<number>;
  /** Begins to fill and to refresh by schedule. */
  start(): void;
  close(): Promise<void>;
}
