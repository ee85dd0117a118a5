import type { Statement } from "../sql/statement.ts";
import type { Cursor } from "./cursor.ts";

/** The name of a cache, which several endpoints may share. */
export interface CacheName {
  readonly schema: string;
  readonly table: string;
}

export function cacheKey({ schema, table }: CacheName): string {
  return JSON.stringify([schema.toLowerCase(), table.toLowerCase()]);
}

/** How a refresh creates a new snapshot. */
export type CacheMode =
  /** Rebuilds all rows. */
  | { readonly kind: "full" }
  /** Adds new rows, from the largest cached cursor value on. */
  | ({ readonly kind: "append" } & Cursor)
  /** Adds the rows of the query. Each replaces the cached row with the same key. */
  | ({ readonly kind: "merge"; readonly primaryKey: readonly string[] } & Cursor);

export interface Retention {
  /** At least 1, since the current snapshot is always kept. */
  readonly keepLast: number;
  readonly maxAgeMs: number | undefined;
}

/** The variables of a refresh template that change with each refresh. Those named `previous...` are undefined on the first. */
export interface RefreshVariables {
  readonly snapshotId: number;
  readonly snapshotTimestamp: string;
  readonly previousSnapshotId: number | undefined;
  /** Despite its name, the largest cached cursor value, as DuckDB formats it. Undefined also without a cursor. */
  readonly previousSnapshotTimestamp: string | undefined;
}

/** The statements of a refresh, in order. */
export interface RefreshStatements {
  /**
   * `select`: the last statement selects the rows, which Eider stores in a new table. `own`: the template changes the
   * cache's own table itself. Stored with each snapshot (`definitionText`), so a new name would make snapshots outdated.
   */
  readonly kind: "select" | "own";
  readonly statements: readonly Statement[];
}

/** One cache table, as its endpoints describe it. */
export interface CacheDefinition {
  readonly name: CacheName;
  readonly mode: CacheMode;
  readonly retention: Retention;
  /** Connections that the refresh needs. */
  readonly connections: readonly string[];
  /** The time between scheduled refreshes; undefined without a schedule. */
  readonly scheduleMs: number | undefined;
  /** Other caches whose tables the refresh reads. */
  readonly reads?: readonly CacheName[];
  /** Called for each refresh, because the query may depend on the largest cursor value. */
  readonly render: (variables: RefreshVariables) => RefreshStatements;
}

/**
 * A complete copy of the rows at one point in time. Each snapshot has a table of its own, which never changes. The exception is
 * a refresh template that changes the cache's table itself (`own`): its snapshots share that table.
 */
export interface Snapshot {
  readonly name: CacheName;
  readonly id: number;
  /** Globally unique, for ETags. */
  readonly uid: string;
  /** The unquoted name of the table that holds its rows, in the schema of its cache. */
  readonly physicalTable: string;
  readonly createdAtMs: number;
  readonly rows: number;
  /** Its estimated size; 0 when it was not measured. */
  readonly bytes: number;
}

/** One row of `cache.audit.refreshes`. */
export interface RefreshRecord {
  readonly name: CacheName;
  readonly mode: CacheMode["kind"];
  readonly status: "ok" | "error";
  readonly message: string | undefined;
  readonly rows: number | undefined;
  readonly snapshot: number | undefined;
  readonly startedAtMs: number;
  readonly durationMs: number;
}
