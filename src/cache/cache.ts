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
  /** Adds rows beyond the largest cached cursor value. */
  | ({ readonly kind: "append" } & Cursor)
  /** Adds the rows of the query; a row whose key is already cached replaces the old one. */
  | ({ readonly kind: "merge"; readonly primaryKey: readonly string[] } & Cursor);

export interface Retention {
  /** At least 1, since the current snapshot is always kept. */
  readonly keepLast: number;
  readonly maxAgeMs: number | undefined;
}

/** The variables of a refresh template. Those of the previous snapshot are undefined on the first fill. */
export interface RefreshVariables {
  readonly snapshotId: number;
  readonly snapshotTimestamp: string;
  readonly previousSnapshotId: number | undefined;
  /** The largest cached cursor value, as DuckDB formats it. */
  readonly previousSnapshotTimestamp: string | undefined;
}

/** The statements of a refresh, in order. `select`: the last one selects the rows. `own`: they change the table of the cache. */
export interface RefreshStatements {
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
  /** Called for each refresh: the query may depend on the last cursor value. */
  readonly render: (variables: RefreshVariables) => RefreshStatements;
}

/** A complete copy of the rows at one point in time. Its table never changes, unless the template itself changes it. */
export interface Snapshot {
  readonly name: CacheName;
  readonly id: number;
  /** Globally unique, for ETags. */
  readonly uid: string;
  /** The table that holds it, in the schema of its cache: a plain identifier. */
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
