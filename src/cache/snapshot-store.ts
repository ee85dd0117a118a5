import type { StopSignal } from "../engines/engine.ts";
import type { Statement } from "../sql/statement.ts";
import type { CacheDefinition, CacheName, RefreshRecord, Snapshot } from "./cache.ts";
import type { StaleMarks } from "./stale-marks.ts";

/** The query of a result cache: its rows go into a table of their own. */
export interface ResultDefinition {
  readonly name: CacheName;
  readonly connections: readonly string[];
  readonly statements: readonly Statement[];
}

export interface ScheduledResult extends ResultDefinition {
  readonly scheduleMs: number | undefined;
}

/** The cache database: snapshots and their metadata, changed atomically. */
export interface SnapshotStore {
  /** All snapshots, the current one of each cache last. At startup, and when another process may have refreshed. */
  load(): Promise<readonly Snapshot[]>;
  /** Caches whose current snapshot is not what they are defined to hold: it has another query, mode or set of columns. */
  outdated(definitions: readonly CacheDefinition[]): Promise<readonly CacheName[]>;
  /** Undefined for a database in memory: it is lost when the process ends. */
  readonly marks: StaleMarks | undefined;
  /** Creates the next snapshot of a cache in one transaction. Rejects with a RequestFailure; then nothing has changed. */
  refresh(definition: CacheDefinition, previous: Snapshot | undefined, signal: StopSignal): Promise<Snapshot>;
  /** Writes the rows of a call into a table, which `load` does not list: results do not outlive the process. */
  materialize(result: ResultDefinition, signal: StopSignal): Promise<Snapshot>;
  /** Drops snapshots. Missing ones are ignored. */
  drop(snapshots: readonly Snapshot[]): Promise<void>;
  /** Records a failed refresh; `refresh` records successful ones. Never rejects. */
  recordFailure(record: RefreshRecord): Promise<void>;
  /** The last refreshes, the newest first. */
  records(limit: number): Promise<readonly RefreshRecord[]>;
}
