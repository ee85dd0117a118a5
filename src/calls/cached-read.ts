import type { CacheName, Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { CacheConfig } from "../config/cache-config.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { StopSignal } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { ParamValue } from "../params/parameter.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import type { Lookup } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import { type OpeningCall, untilOpen } from "./until-open.ts";

/** The snapshot that the rows of a cached read come from. */
export interface CachedFrom {
  readonly uid: string;
  readonly createdAtMs: number;
  readonly state: Lease["state"];
  /** How long the rows are current, from the time of the snapshot. If undefined, until a write invalidates them. */
  readonly scheduleMs: number | undefined;
}

/** An endpoint whose rows come from a cache. */
export type CachedEndpoint = Endpoint & { readonly cache: Extract<CacheConfig, { kind: "table" | "results" }> };

export function isCached(endpoint: Endpoint): endpoint is CachedEndpoint {
  const { cache } = endpoint;
  return cache?.kind === "results" || (cache?.kind === "table" && cache.isReadByTemplate);
}

interface OpeningOptions<T> {
  readonly services: Pick<OpeningCall, "connectionStatus"> & {
    verifyWithoutConnections(endpoint: Endpoint): Promise<Endpoint>;
  };
  readonly readAs: (endpoint: Endpoint) => Promise<T>;
  readonly signal: StopSignal;
}

/**
 * Reads while the connections of an endpoint are not open yet, perhaps for a long time. A cache table needs none: only a template
 * that also reads from a connection waits for it.
 */
export async function readWhileOpening<T>(
  endpoint: Endpoint,
  opening: Promise<Endpoint>,
  { services, readAs, signal }: OpeningOptions<T>,
): Promise<T> {
  if (endpoint.cache?.kind === "table") {
    opening.catch(() => {});
    try {
      return await readAs(await services.verifyWithoutConnections(endpoint));
    } catch (error) {
      if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") throw error;
    }
  }
  return await readAs(await untilOpen(opening, { endpoint, ...services, signal }));
}

export interface LeaseOptions {
  readonly caches: Caches;
  readonly signal: StopSignal;
  readonly refresh: boolean;
  /** The rendered statements: everything that the rows depend on, except the page. */
  readonly statements: () => readonly Statement[];
}

/** Whether the SQL of an endpoint reads snapshots: of its own cache, or of cache tables that it names. */
export function readsSnapshots(endpoint: Endpoint): boolean {
  return isCached(endpoint) || endpoint.namedCaches.length > 0;
}

/** Leases the snapshots that a call reads. The caller releases them. */
export function leaseFor(endpoint: Endpoint, options: LeaseOptions): Promise<Lease> {
  if (!isCached(endpoint)) return leaseNamed(endpoint.namedCaches, options);
  return endpoint.namedCaches.length === 0 ? leaseOwn(endpoint, options) : leaseAll(endpoint, options);
}

function leaseOwn({ cache, connections }: CachedEndpoint, options: LeaseOptions): Promise<Lease> {
  const { caches, signal, refresh } = options;
  const { name } = cache;
  if (cache.kind === "table") return caches.acquire(name, { signal, refresh });
  const statements = options.statements();
  const result = { name, connections, statements, scheduleMs: cache.scheduleMs };
  return caches.acquireResult(keyOf(statements), result, { signal, refresh });
}

async function leaseAll(endpoint: CachedEndpoint, options: LeaseOptions): Promise<Lease> {
  const { cache, namedCaches } = endpoint;
  if (cache.kind === "table") return await leaseNamed(namedCaches, options, [await leaseOwn(endpoint, options)]);
  // A result copies the rows, so these leases are needed only while it is created.
  return await withLeases(endpoint, options, () => leaseOwn(endpoint, options));
}

/** Runs work with leases for the cache tables that the SQL names: they are filled, and no snapshot is dropped meanwhile. */
export async function withLeases<T>(
  { namedCaches }: Endpoint,
  options: Pick<LeaseOptions, "caches" | "signal">,
  work: () => Promise<T>,
): Promise<T> {
  if (namedCaches.length === 0) return await work();
  const lease = await leaseNamed(namedCaches, options);
  try {
    return await work();
  } finally {
    lease.release();
  }
}

/**
 * Leases cache tables that the SQL names in full, so that empty and stale ones are refreshed first. The result includes
 * the leases in `held`, which are released on failure. The caller releases the result.
 */
async function leaseNamed(
  names: readonly CacheName[],
  { caches, signal }: Pick<LeaseOptions, "caches" | "signal">,
  held: readonly Lease[] = [],
): Promise<Lease> {
  const leases = [...held];
  const release = (): void => {
    for (const lease of leases) lease.release();
  };
  try {
    for (const name of names) leases.push(await caches.acquire(name, { signal, refresh: false }));
  } catch (error) {
    release();
    throw error;
  }
  const [first] = leases;
  if (first === undefined) throw new Error("there is no cache to lease");
  const snapshots = leases.map(({ snapshot }) => snapshot);
  return {
    state: leases.find(({ state }) => state !== "hit")?.state ?? "hit",
    snapshot: {
      ...first.snapshot,
      uid: snapshots.map(({ uid }) => uid).join("+"),
      createdAtMs: Math.min(...snapshots.map(({ createdAtMs }) => createdAtMs)),
    },
    isCurrent: () => leases.every((lease) => lease.isCurrent()),
    release,
  };
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
  const stringValue = (value: string): ParamValue => ({ text: value, type: "VARCHAR", value });
  return (ref) => {
    if (ref.scope !== "cache") return lookup(ref);
    switch (ref.name) {
      case "table":
        return stringValue(physicalTable);
      case "snapshotId":
        return { text: String(id), type: "BIGINT", value: BigInt(id) };
      case "snapshotTimestamp":
        return stringValue(new Date(createdAtMs).toISOString());
      default:
        return undefined;
    }
  };
}

/** A statement that selects all rows of a snapshot, in their original order. */
export function selectAll(
  { cacheCatalog, keepsRowOrder }: { readonly cacheCatalog: string; readonly keepsRowOrder: boolean },
  { schema }: CacheName,
  { physicalTable }: Snapshot,
): Statement {
  const table = [cacheCatalog, schema, physicalTable].map(quoteIdentifier).join(".");
  return { sql: `SELECT * FROM ${table}${keepsRowOrder ? "" : " ORDER BY rowid ASC"}`, values: [] };
}
