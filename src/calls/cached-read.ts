import type { CacheName, Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { CacheConfig } from "../config/cache-config.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { ParamValue } from "../params/parameter.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import type { Lookup } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";

/** The snapshot that the rows of a cached read come from. */
export interface CachedFrom {
  readonly uid: string;
  readonly createdAtMs: number;
  readonly state: Lease["state"];
  /** How long the rows are current, from the time of the snapshot. Undefined: until a write invalidates them. */
  readonly scheduleMs: number | undefined;
}

/** An endpoint whose rows come from a cache. */
export type CachedEndpoint = Endpoint & { readonly cache: Extract<CacheConfig, { kind: "table" | "results" }> };

export function isCached(endpoint: Endpoint): endpoint is CachedEndpoint {
  return endpoint.cache?.kind === "table" || endpoint.cache?.kind === "results";
}

export interface LeaseOptions {
  readonly caches: Caches;
  readonly signal: StopSignal;
  readonly refresh: boolean;
  /** Everything that the rows depend on, except the page. */
  readonly statements: () => readonly Statement[];
}

/** Leases the snapshot that a call reads. The caller releases it. */
export function leaseFor({ cache, connections }: CachedEndpoint, options: LeaseOptions): Promise<Lease> {
  const { caches, signal, refresh } = options;
  const { name } = cache;
  if (cache.kind === "table") return caches.acquire(name, { signal, refresh });
  const statements = options.statements();
  const result = { name, connections, statements, scheduleMs: cache.scheduleMs };
  return caches.acquireResult(keyOf(statements), result, { signal, refresh });
}

/** Two calls share a key only if they get the same rows: it contains every value that the template reads. */
function keyOf(statements: readonly Statement[]): string {
  return JSON.stringify(statements, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
}

export function cachedFrom({ snapshot, state }: Lease, scheduleMs: number | undefined): CachedFrom {
  return { uid: snapshot.uid, createdAtMs: snapshot.createdAtMs, state, scheduleMs };
}

/** Adds the `cache.*` values of a snapshot for the template. */
export function withSnapshot(lookup: Lookup, { physicalTable, id, createdAtMs }: Snapshot): Lookup {
  const text = (value: string): ParamValue => ({ text: value, type: "VARCHAR", value });
  return (ref) => {
    if (ref.scope !== "cache") return lookup(ref);
    switch (ref.name) {
      case "table":
        return text(physicalTable);
      case "snapshotId":
        return { text: String(id), type: "BIGINT", value: BigInt(id) };
      case "snapshotTimestamp":
        return text(new Date(createdAtMs).toISOString());
      default:
        return undefined;
    }
  };
}

/** Reads all rows of a snapshot, in their original order. */
export function rowsOf(catalog: string, { schema }: CacheName, { physicalTable }: Snapshot): Statement {
  return { sql: `SELECT * FROM ${[catalog, schema, physicalTable].map(quoteIdentifier).join(".")}`, values: [] };
}
