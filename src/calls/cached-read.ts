import type { CacheName, Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { CacheConfig } from "../config/cache-config.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { StopSignal } from "../engines/engine.ts";
import type { ParamValue } from "../params/parameter.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import type { Lookup } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";

/** A cached read: which snapshot its rows are from. */
export interface CachedFrom {
  readonly uid: string;
  readonly createdAtMs: number;
  readonly state: Lease["state"];
  /** How long the rows are good for, from the moment of the snapshot. Undefined: until a write says otherwise. */
  readonly scheduleMs: number | undefined;
}

/** An endpoint whose rows come from a cache. */
export type CachedEndpoint = Endpoint & { readonly cache: Extract<CacheConfig, { kind: "table" | "results" }> };

export function isCached(endpoint: Endpoint): endpoint is CachedEndpoint {
  return endpoint.cache?.kind === "table" || endpoint.cache?.kind === "results";
}

export interface Leasing {
  readonly caches: Caches;
  readonly signal: StopSignal;
  readonly refresh: boolean;
  /** Everything that the rows of the call depend on, without its page. */
  readonly statements: () => readonly Statement[];
}

/** The snapshot that a call reads; whoever has it releases it. */
export function leaseFor({ cache, connections }: CachedEndpoint, leasing: Leasing): Promise<Lease> {
  const { caches, signal, refresh } = leasing;
  const { name } = cache;
  if (cache.kind === "table") return caches.acquire(name, { signal, refresh });
  const statements = leasing.statements();
  const result = { name, connections, statements, scheduleMs: cache.scheduleMs };
  return caches.acquireResult(keyOf(statements), result, { signal, refresh });
}

/** The same for two calls only when they would get the same rows: whatever a template reads of its caller is in here. */
function keyOf(statements: readonly Statement[]): string {
  return JSON.stringify(statements, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
}

export function cachedFrom({ snapshot, state }: Lease, scheduleMs: number | undefined): CachedFrom {
  return { uid: snapshot.uid, createdAtMs: snapshot.createdAtMs, state, scheduleMs };
}

/** The template of an endpoint names the snapshot's own table. */
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

/** All rows of a snapshot, in the order in which they came. */
export function rowsOf(catalog: string, { schema }: CacheName, { physicalTable }: Snapshot): Statement {
  return { sql: `SELECT * FROM ${[catalog, schema, physicalTable].map(quoteIdentifier).join(".")}`, values: [] };
}
