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
  /** Notes that an entry saved a count. */
  noteHit(): void;
  /** How many counts were saved. */
  hits(): number;
}

interface TotalCacheEntry {
  readonly rows: number;
  readonly moment: number;
  readonly tables: readonly string[];
}

/** Room for about twenty thousand totals of typical queries. A key contains every client value. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Queries with longer values are counted each time. */
const MAX_ENTRY_BYTES = 256 * 1024;
/** An entry without its key. Its table names are shared with the dependencies. */
const TOTAL_BYTES = 80;

export function openTotalCache(versions: DataVersions, dependencies: DependencyFinder): TotalCache {
  const totals = openLru<TotalCacheEntry>({
    maxBytes: MAX_BYTES,
    maxEntryBytes: MAX_ENTRY_BYTES,
    bytesOf: () => TOTAL_BYTES,
  });
  let hits = 0;
  return {
    get(query) {
      const key = statementKey(query);
      const entry = totals.get(key);
      if (entry === undefined) return undefined;
      if (versions.unchangedSince(entry.moment, entry.tables)) return entry;
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
      hits++;
    },
    hits: () => hits,
    unchangedSince(moment, query) {
      const tables = dependencies.known(query.sql)?.tables;
      return tables !== undefined && versions.unchangedSince(moment, tables);
    },
  };
}
