import { type CacheName, cacheKey } from "../cache/cache.ts";
import type { ConnectionStatus } from "../calls/connection-status.ts";
import { hasErrors, type Problem } from "../config/problem.ts";
import { cachesReadBy } from "../endpoint/cache-references.ts";
import type { CompiledRefresh } from "../endpoint/compile-refresh.ts";
import { namesCreatedBy, type TolerantPlanner, tolerateMissingTables } from "../endpoint/created-tables.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { verifyEndpoint } from "../endpoint/verify-endpoint.ts";
import { functionsOf, functionsOfTemplates, recompileEndpoint } from "../endpoint/verify-functions.ts";
import { assumeStoredTable, verifyRefresh } from "../endpoint/verify-refresh.ts";
import type { Engine } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { RequestFailure } from "../failure.ts";
import { dialectWith } from "../sql/user-functions.ts";

const VERIFIED_AT_ONCE = 4;

export interface CompiledEndpoint {
  readonly endpoint: Endpoint;
  readonly problems: readonly Problem[];
  /** The result of its last verification, if neither its configuration nor its template has changed since. */
  readonly lastCheck: PassedCheck | undefined;
}

/** A verification that found no problem, which a reload need not repeat. */
export interface PassedCheck {
  readonly endpoint: Endpoint;
  /** The macros and functions of that time, which decide where a template may use values. */
  readonly functions: string;
  /** Whether the tables, views and macros are still the same. */
  readonly isCurrent: () => boolean;
}

/** The templates of a project. */
export interface CompiledTemplates {
  readonly endpoints: readonly CompiledEndpoint[];
  /** Ordered: each comes after those whose tables it reads. */
  readonly refreshes: readonly CompiledRefresh[];
}

export interface VerifiedEndpoint {
  readonly endpoint: Endpoint;
  /** Verified without a connection or a table that it needs. Its first call verifies it again. */
  readonly isLate: boolean;
  /** For the next reload. Undefined if that must verify it again. */
  readonly check: PassedCheck | undefined;
}

type VerificationResult = VerifiedEndpoint & { readonly problems: readonly Problem[] };

/** Verifies the templates of a project. */
export interface Verification {
  /**
   * Verifies every template: plans it if its connections are open, otherwise only parses it. One that needs a table that another
   * template or an `init` creates, or one that a database server lacks, is verified by its first call. One that has passed before is not verified again until its files,
   * the tables of the database or the macros change.
   */
  verifyAll(): Promise<{ readonly endpoints: readonly VerifiedEndpoint[]; readonly problems: readonly Problem[] }>;
  /** Opens the connections of an endpoint, and verifies it. Rejects with a RequestFailure. */
  verifyLate(endpoint: Endpoint): Promise<Endpoint>;
  /** Verifies an endpoint with the connections that are open now. Rejects with a RequestFailure. */
  verifyNow(endpoint: Endpoint): Promise<Endpoint>;
}

export interface VerificationContext {
  readonly engines: Engines;
  readonly connectionStatus: ConnectionStatus;
  /** The `init` SQL of all connections. */
  readonly inits: readonly string[];
  /** Whether the service starts although tables of database servers are missing. */
  readonly toleratesMissing: boolean;
}

export function openVerification(
  { endpoints: compiled, refreshes }: CompiledTemplates,
  { engines, connectionStatus, inits, toleratesMissing }: VerificationContext,
): Verification {
  const all = [...compiled, ...refreshes].map(({ endpoint }) => endpoint);
  const { engine, engineOf } = engines;
  const created = namesCreatedBy(all, inits, engines);
  /** The cache tables whose columns the database knows. */
  const planned = new Set<string>();
  /** Refreshes that could not be verified yet, by cache, and their verification while it runs. */
  const late = new Map<string, { readonly refresh: CompiledRefresh; verifying?: Promise<void> | undefined }>();
  const isOpen = ({ connections }: Endpoint): boolean => connections.every(connectionStatus.isOpen);
  const isPlanned = (name: CacheName): boolean => planned.has(cacheKey(name));
  const isLate = (name: CacheName): boolean => late.has(cacheKey(name));

  function plannerFor({ connections }: Endpoint): TolerantPlanner<Engine> {
    const owner = engineOf(connections);
    return tolerateMissingTables(owner, { created, atServer: toleratesMissing && connections.some(owner.canProbe) });
  }

  async function verifyOne(refresh: CompiledRefresh, planner?: TolerantPlanner<Engine>): Promise<readonly Problem[]> {
    const key = cacheKey(refresh.definition.name);
    const owner = engineOf(refresh.endpoint.connections);
    const source = planner?.engine ?? owner;
    // The planner of the embedded engine is this engine too.
    const embedded = owner === engine ? { ...engine, plan: source.plan } : engine;
    const found = await verifyRefresh(refresh, { engine: embedded, source: owner === engine ? embedded : source });
    if (planner?.hasMissedTable()) late.set(key, { refresh });
    else late.delete(key);
    if (found.canPlanReads) planned.add(key);
    return found.problems;
  }

  /** Runs once for all endpoints that read the table. */
  async function verifyLateRefresh(refresh: CompiledRefresh): Promise<void> {
    await connectionStatus.open(refresh.endpoint.connections);
    failOn(await verifyOne(refresh));
  }

  async function verifyCaches(dialects: Dialects): Promise<readonly Problem[]> {
    const problems: Problem[] = [];
    // In order: the columns of one may depend on those of another.
    for (const refresh of refreshes) {
      const { endpoint, definition } = refresh;
      const others = endpoint.namedCaches.filter((name) => cacheKey(name) !== cacheKey(definition.name));
      const known = dialects.apply(endpoint);
      problems.push(...known.problems);
      if (hasErrors([...refresh.problems, ...known.problems])) continue;
      if (isOpen(endpoint) && others.every(isPlanned)) {
        const planner = plannerFor(endpoint);
        problems.push(...(await verifyOne({ ...refresh, endpoint: known.endpoint }, planner)));
        continue;
      }
      if (await assumeStoredTable(refresh, engine)) planned.add(cacheKey(definition.name));
      else if (!isOpen(endpoint) || others.some(isLate)) late.set(cacheKey(definition.name), { refresh });
      problems.push(...(await verifyEndpoint(known.endpoint, engineOf(endpoint.connections), "parse")).problems);
    }
    return problems;
  }

  /** Verifies an endpoint as far as the open connections allow. */
  async function verifyEarly(endpoint: Endpoint): Promise<Omit<VerificationResult, "check">> {
    const caches = cachesReadBy(endpoint);
    const depth = isOpen(endpoint) && caches.every(isPlanned) ? "plan" : "parse";
    const planner = plannerFor(endpoint);
    const verified = await verifyEndpoint(endpoint, planner.engine, depth);
    return { ...verified, isLate: !isOpen(endpoint) || caches.some(isLate) || planner.hasMissedTable() };
  }

  /** Whether the result depends only on what `PassedCheck` observes. Refreshes change the columns of cache tables. */
  const canRepeat = (endpoint: Endpoint): boolean => isOpen(endpoint) && cachesReadBy(endpoint).length === 0;

  async function verifyCompiled(
    { endpoint, problems: found, lastCheck }: CompiledEndpoint,
    dialects: Dialects,
    isCurrent: () => boolean,
  ): Promise<VerificationResult> {
    const { functions } = dialects;
    if (lastCheck?.functions === functions && canRepeat(endpoint) && lastCheck.isCurrent())
      return { endpoint: lastCheck.endpoint, isLate: false, problems: [], check: lastCheck };
    const known = dialects.apply(endpoint);
    // The database would only repeat the problems of a broken template.
    if (hasErrors([...found, ...known.problems])) {
      return { endpoint, isLate: false, problems: known.problems, check: undefined };
    }
    const result = await verifyEarly(known.endpoint);
    const problems = [...known.problems, ...result.problems];
    // Problems are looked for again, because data outside the database may have been fixed.
    const hasPassed = problems.length === 0 && !result.isLate && canRepeat(endpoint);
    return { ...result, problems, check: hasPassed ? { endpoint: result.endpoint, functions, isCurrent } : undefined };
  }

  /** Recompiles an endpoint with the functions of the database. */
  async function withFunctions(endpoint: Endpoint): Promise<ReturnType<typeof recompileEndpoint>> {
    if (engineOf(endpoint.connections) !== engine) return { endpoint, problems: [] };
    const dialect = dialectWith(engine.dialect, await functionsOf([endpoint], engine));
    return recompileEndpoint(endpoint, dialect, engine.dialect);
  }

  async function verifyNow(endpoint: Endpoint): Promise<Endpoint> {
    const known = await withFunctions(endpoint);
    const depth = cachesReadBy(endpoint).every(isPlanned) ? "plan" : "parse";
    const { endpoint: verified, problems } = await verifyEndpoint(
      known.endpoint,
      engineOf(endpoint.connections),
      depth,
    );
    failOn([...known.problems, ...problems]);
    return verified;
  }

  return {
    async verifyAll() {
      const dialects = await openDialects([...compiled, ...refreshes], engines, isOpen);
      const problems = [...(await verifyCaches(dialects))];
      // Before the first one: a table that changes meanwhile counts as changed for all.
      const watches = new Map<Engine, () => boolean>();
      for (const { endpoint } of compiled) {
        const owner = engineOf(endpoint.connections);
        if (!watches.has(owner)) watches.set(owner, owner.watchSchema());
      }
      const results: VerificationResult[] = [];
      let next = 0;
      const work = async (): Promise<void> => {
        for (let index = next++; index < compiled.length; index = next++) {
          const each = compiled[index] as CompiledEndpoint;
          const isCurrent = watches.get(engineOf(each.endpoint.connections)) ?? (() => false);
          results[index] = await verifyCompiled(each, dialects, isCurrent);
        }
      };
      await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, work));
      problems.push(...results.flatMap((result) => result.problems));
      return { endpoints: results, problems };
    },
    async verifyLate(endpoint) {
      await connectionStatus.open(endpoint.connections);
      const caches = cachesReadBy(endpoint);
      for (const [key, entry] of late) {
        if (!caches.some((name) => cacheKey(name) === key)) continue;
        entry.verifying ??= verifyLateRefresh(entry.refresh).finally(() => {
          entry.verifying = undefined;
        });
        await entry.verifying;
      }
      return await verifyNow(endpoint);
    },
    verifyNow,
  };
}

/** The dialects of templates over the embedded engine, with the macros that they may call. */
interface Dialects {
  /** The macros and functions of the database and the templates. */
  readonly functions: string;
  /** Recompiles an endpoint with its dialect, if the embedded engine runs it. */
  apply(endpoint: Endpoint): ReturnType<typeof recompileEndpoint>;
}

async function openDialects(
  compiled: readonly { readonly endpoint: Endpoint }[],
  { engine, engineOf }: Engines,
  isOpen: (endpoint: Endpoint) => boolean,
): Promise<Dialects> {
  const usesIt = ({ connections }: Endpoint): boolean => engineOf(connections) === engine;
  const endpoints = compiled.map(({ endpoint }) => endpoint).filter(usesIt);
  const ofTemplates = functionsOfTemplates(endpoints, engine.dialect);
  const all = endpoints.some(isOpen) ? await functionsOf(endpoints, engine) : ofTemplates;
  const offline = dialectWith(engine.dialect, ofTemplates);
  const online = dialectWith(engine.dialect, all);
  return {
    functions: JSON.stringify(all),
    apply: (endpoint) =>
      usesIt(endpoint)
        ? recompileEndpoint(endpoint, isOpen(endpoint) ? online : offline, engine.dialect)
        : { endpoint, problems: [] },
  };
}

function failOn(problems: readonly Problem[]): void {
  const error = problems.find(({ severity }) => severity === "error");
  if (error === undefined) return;
  const { message, explanation } = error;
  throw new RequestFailure({ kind: "query-failed", message, explanation });
}
