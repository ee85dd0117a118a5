import { type CacheName, cacheKey, type Snapshot } from "../cache/cache.ts";
import type { CacheStatus, Lease } from "../cache/caches.ts";
import { cachesReadBy } from "../endpoint/cache-references.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine, Window } from "../engines/engine.ts";
import type { Explanation } from "../engines/explanation.ts";
import type { Page } from "../params/page.ts";
import type { Params } from "../params/parameter.ts";
import type { Statement } from "../sql/statement.ts";
import { isCached, leaseFor, withSnapshot } from "./cached-read.ts";
import type { Call } from "./call.ts";
import { lookupOf } from "./call-lookup.ts";
import { callerOf } from "./caller.ts";
import { type LoggedStatement, loggedQuery } from "./logged-query.ts";
import { pagingOf } from "./paging.ts";
import { type CallServices, statementsOf } from "./run-endpoint.ts";
import { validateCall } from "./validate-call.ts";

/** How a call would run. */
export interface ExplainedCall {
  readonly statements: readonly LoggedStatement[];
  /** The caches that its rows come from. */
  readonly caches: readonly CacheStatus[];
  readonly explanation: Explanation;
  /** Milliseconds. */
  readonly times: Readonly<Record<"validate" | "prepare" | "render" | "plan", number>>;
}

export type ExplainableCall = Pick<Call, "raw" | "identity" | "deadline"> & {
  /** Also runs the statements. What they change is rolled back. */
  readonly analyze: boolean;
};

/** Validates and renders a call, and explains its statements. Rejects with a RequestFailure. */
export async function explainCall(
  endpoint: Endpoint,
  call: ExplainableCall,
  services: CallServices,
): Promise<ExplainedCall> {
  const { deadline, analyze } = call;
  const observed = { rows: undefined, cache: undefined, marks: undefined };
  const startedAt = performance.now();
  const valid = await validateCall(endpoint, { ...call, errors: [], observed }, services.limits);
  const validatedAt = performance.now();
  return await deadline.spend(async () => {
    const verified = await services.prepare(endpoint);
    const caches = statusesOf(verified, services);
    const { connections } = verified;
    const isFilled = caches.every(
      ({ mode, createdAtMs, isStale }) => mode === "results" || (createdAtMs !== undefined && !isStale),
    );
    const lease = isFilled || analyze ? await leaseTables(verified, call, services) : undefined;
    try {
      const preparedAt = performance.now();
      const { engine, statements, shown, window } = render(
        verified,
        { ...valid, ...call, snapshot: lease?.snapshot },
        services,
      );
      const renderedAt = performance.now();
      const { signal } = deadline;
      const query = { connections, statements, window, analyze, signal, caller: callerOf(call.identity) };
      const explanation = isFilled || analyze ? await engine.explain(query) : notFilled(statements);
      const plannedAt = performance.now();
      return {
        statements: shown,
        caches,
        explanation,
        times: {
          validate: validatedAt - startedAt,
          prepare: preparedAt - validatedAt,
          render: renderedAt - preparedAt,
          plan: plannedAt - renderedAt,
        },
      };
    } finally {
      lease?.release();
    }
  });
}

function statusesOf(endpoint: Endpoint, { caches }: CallServices): readonly CacheStatus[] {
  const { cache } = endpoint;
  const names = cache?.kind === "results" ? [cache.name, ...endpoint.namedCaches] : cachesReadBy(endpoint);
  const all = caches.statuses();
  const scheduleMs = cache?.kind === "table" ? cache.refresh?.scheduleMs : undefined;
  return names.map((name, index) => {
    const status = all.find((each) => cacheKey(each.name) === cacheKey(name)) ?? emptyStatus(name);
    const { createdAtMs, nextRefreshAtMs } = status;
    // In a process that does not refresh caches on their schedules, the time is that of one that does.
    const scheduledAtMs =
      index === 0 && createdAtMs !== undefined && scheduleMs !== undefined ? createdAtMs + scheduleMs : undefined;
    return { ...status, nextRefreshAtMs: nextRefreshAtMs ?? scheduledAtMs };
  });
}

/** A result cache has no status before its first entry. */
function emptyStatus(name: CacheName): CacheStatus {
  return {
    name,
    mode: "results",
    snapshots: 0,
    rows: undefined,
    createdAtMs: undefined,
    isStale: false,
    nextRefreshAtMs: undefined,
    error: undefined,
  };
}

/** Leases the cache tables that the SQL reads. A result cache is not used: its query is what is explained. */
async function leaseTables(
  endpoint: Endpoint,
  { deadline: { signal } }: ExplainableCall,
  { caches }: CallServices,
): Promise<Lease | undefined> {
  if (cachesReadBy(endpoint).length === 0) return undefined;
  const withoutResults = endpoint.cache?.kind === "results" ? { ...endpoint, cache: undefined } : endpoint;
  return await leaseFor(withoutResults, { caches, signal, refresh: false, statements: () => [] });
}

interface RenderInput extends Pick<Call, "identity"> {
  readonly params: Params;
  readonly page: Page;
  readonly snapshot: Snapshot | undefined;
}

interface RenderedCall {
  readonly engine: Engine;
  readonly statements: readonly Statement[];
  readonly shown: readonly LoggedStatement[];
  readonly window: Window | undefined;
}

function render(
  endpoint: Endpoint,
  { params, page, identity, snapshot }: RenderInput,
  { engine, engineOf, isRedacted }: CallServices,
): RenderedCall {
  const { operation, cache, connections } = endpoint;
  const isRead = operation.kind === "read";
  const { templatePage, window } = isRead ? pagingOf(endpoint, page) : { templatePage: undefined, window: undefined };
  const plain = lookupOf(params, templatePage, identity);
  const shownSnapshot =
    isCached(endpoint) && cache?.kind === "table" ? (snapshot ?? unnamedSnapshot(cache.name)) : undefined;
  const lookup = shownSnapshot === undefined ? plain : withSnapshot(plain, shownSnapshot);
  const runsOn = cache?.kind === "table" ? engine : engineOf(connections);
  return {
    engine: runsOn,
    statements: statementsOf(endpoint, lookup, runsOn),
    shown: loggedQuery(endpoint, lookup, runsOn).statements(isRedacted),
    // A result cache holds all rows.
    window: cache?.kind === "results" ? undefined : window,
  };
}

/** Only to show the SQL: a cache without rows has no table yet. */
function unnamedSnapshot(name: CacheName): Snapshot {
  return { name, id: 0, uid: "", physicalTable: name.table, createdAtMs: 0, rows: 0, bytes: 0 };
}

function notFilled(statements: readonly Statement[]): Explanation {
  const reason = "its cache table is empty or stale, and the next call refreshes it first";
  return { kind: "plans", plans: statements.map(() => ({ root: undefined, reason, ms: undefined })) };
}
