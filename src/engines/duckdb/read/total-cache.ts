import { openLru } from "../../../bounded/lru.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { DependencyFinder } from "../plan/dependencies.ts";
import type { DataVersions } from "../session/data-versions.ts";
import { statementKey } from "./read-key.ts";

/** Row counts of queries, valid until one of their tables changes. */
export interface TotalCache {
  /** The same object as long as the entry is valid. */
  get(query: Statement): TotalCacheEntry | undefined;
  /** Caches a count from a transaction that began after `moment`, if the query's dependencies are known. */
  keep(query: Statement, rows: number, moment: number): void;
  now(): number;
  /** Whether the tables of a query are known to be unchanged since a moment. */
  unchangedSince(moment: number, query: Statement): boolean;
  /** An entry saved a count. */
  noteHit(): void;
  /** How many counts were saved. */
  hits(): number;
}

interface TotalCacheEntry {
  readonly rows: number;
  readonly moment: number;
  readonly tables: readonly string[];
}

/** Some twenty thousand totals of usual queries. A key holds every value that a client sent. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A query with values that are longer is counted each time. */
const MAX_ENTRY_BYTES = 256 * 1024;
/** A total itself; the names of its tables are those that the dependencies hold. */
const TOTAL_BYTES = 80;

export function openTotalCache(versions: DataVersions, dependencies: DependencyFinder): TotalCache {
  const totals = openLru<TotalCacheEntry>({
    maxBytes: MAX_BYTES,
    maxEntryBytes: MAX_ENTRY_BYTES,
    bytesOf: () => TOTAL_BYTES,
  });
  let used = 0;
  return {
    get(query) {
      const key = statementKey(query);
      const kept = totals.get(key);
      if (kept === undefined) return undefined;
      if (versions.unchangedSince(kept.moment, kept.tables)) return kept;
      totals.delete(key);
      return undefined;
    },
    keep(query, rows, moment) {
      // Dependencies are found once per query, without delaying the response.
      void dependencies.of(query).then(({ tables }) => {
        if (tables === undefined || !versions.unchangedSince(moment, tables)) return;
        totals.set(statementKey(query), { rows, moment, tables });
      });
    },
    now: versions.now,
    noteHit() {
      used++;
    },
    hits: () => used,
    unchangedSince(moment, query) {
      const tables = dependencies.known(query.sql)?.tables;
      return tables !== undefined && versions.unchangedSince(moment, tables);
    },
  };
}
