import type { StopSignal } from "../engines/engine.ts";
import type { Statement } from "../sql/statement.ts";
import type { CacheDefinition, CacheName, RefreshRecord, Snapshot } from "./cache.ts";

/** Rows of one call of an endpoint without a refresh template: kept as they are, under a table of their own. */
export interface ResultDefinition {
  readonly name: CacheName;
  readonly connections: readonly string[];
  readonly statements: readonly Statement[];
}

/** The cache database: snapshots as tables, and what is known of them, changed together or not at all. */
export interface SnapshotStore {
  /** Every snapshot that is complete, the current one of each cache last. At start, and when another process may have refreshed. */
  load(): Promise<readonly Snapshot[]>;
  /** Makes the next snapshot of a cache, and the current one of it, in one transaction. Rejects with a RequestFailure; then nothing has changed. */
  refresh(definition: CacheDefinition, previous: Snapshot | undefined, signal: StopSignal): Promise<Snapshot>;
  /** Puts the rows of a call into a table. It is not listed by `load`: results do not outlive the process. */
  materialise(result: ResultDefinition, signal: StopSignal): Promise<Snapshot>;
  /** Takes snapshots away. Those that are gone already do no harm. */
  drop(snapshots: readonly Snapshot[]): Promise<void>;
  /** Notes a refresh that failed; one that worked notes itself. Never rejects. */
  recordFailure(record: RefreshRecord): Promise<void>;
  /** The last refreshes, the newest first. */
  records(limit: number): Promise<readonly RefreshRecord[]>;
}
