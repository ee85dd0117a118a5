import type { Statement } from "../sql/statement.ts";

/** Which cache: several endpoints may share one. decisions.md 8. */
export interface CacheName {
  readonly schema: string;
  readonly table: string;
}

export function cacheKey({ schema, table }: CacheName): string {
  return JSON.stringify([schema.toLowerCase(), table.toLowerCase()]);
}

/** How a refresh makes a new snapshot. */
export type CacheMode =
  /** All rows anew. */
  | { readonly kind: "full" }
  /** Rows beyond the largest cursor value that is there. */
  | { readonly kind: "append"; readonly cursor: string }
  /** The same, and rows with a key that is there replace the old ones. */
  | { readonly kind: "merge"; readonly cursor: string; readonly primaryKey: readonly string[] };

export interface Retention {
  /** At least 1: the current one. */
  readonly keepLast: number;
  readonly maxAgeMs: number | undefined;
}

/** What a refresh template sees of the moment. Unset at the first fill: what is undefined. decisions.md 8. */
export interface RefreshVariables {
  readonly snapshotId: number;
  readonly snapshotTimestamp: string;
  readonly previousSnapshotId: number | undefined;
  /** The largest cursor value that is cached, as DuckDB writes it. */
  readonly previousSnapshotTimestamp: string | undefined;
}

/** What a refresh runs: all statements in order, the last one selects the rows; or the template itself changes the table. */
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
  readonly scheduleMs: number | undefined;
  /** Rendered anew for each refresh: it may ask for rows beyond the last. */
  readonly render: (variables: RefreshVariables) => RefreshStatements;
}

/** A complete copy of the rows at one moment. Its table never changes again, save for a template that changes its own. */
export interface Snapshot {
  readonly name: CacheName;
  readonly id: number;
  /** Unlike that of any other snapshot, of this or another process, now or later: for ETags. */
  readonly uid: string;
  /** The table that holds it, in the schema of its cache: a plain identifier. */
  readonly physicalTable: string;
  readonly createdAtMs: number;
  readonly rows: number;
  /** About how many bytes it takes; 0 when nobody asked. */
  readonly bytes: number;
}

/** One line of `cache.audit.refreshes`. */
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
