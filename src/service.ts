import { type Authenticators, openAuthenticators } from "./auth/authenticators.ts";
import type { AuthPolicy, SecretUsers } from "./auth/policy.ts";
import { cacheKey } from "./cache/cache.ts";
import type { Caches } from "./cache/caches.ts";
import { openIdempotentAnswers } from "./calls/idempotency.ts";
import type { Callee } from "./calls/run-endpoint.ts";
import { openSources, type Sources } from "./calls/sources.ts";
import type { Problem } from "./config/problem.ts";
import type { Project } from "./config/project.ts";
import { compileEndpoint } from "./endpoint/compile-endpoint.ts";
import { type CompiledRefresh, compileRefresh } from "./endpoint/compile-refresh.ts";
import type { Endpoint } from "./endpoint/endpoint.ts";
import { type Depth, verifyEndpoint } from "./endpoint/verify-endpoint.ts";
import { type Engine, EngineOpenError } from "./engines/engine.ts";
import { engine as engineType } from "./engines/index.ts";
import type { Report } from "./events.ts";
import { RequestFailure } from "./failure.ts";
import type { RateLimitPolicy } from "./rate-limit/policy.ts";
import { openRateLimiter, type RateLimiter } from "./rate-limit/rate-limiter.ts";
import { buildRouteTable, type RouteTable } from "./rest/route-table.ts";
import { openProjectCaches } from "./service-cache.ts";
import { connect, openEngine, parseInits, settingProblem } from "./service-engine.ts";
import { openSpool, type Spool } from "./spool/spool.ts";
import type { Self } from "./spool/sweep.ts";

/** A project that is open: endpoints compiled and verified, the database open, no port. */
export interface Service extends Callee {
  readonly project: Project;
  readonly endpoints: readonly Endpoint[];
  readonly routes: RouteTable;
  readonly sources: Sources;
  readonly authenticators: Authenticators;
  readonly rateLimiter: RateLimiter;
  close(): Promise<void>;
}

/** What became of opening a project. `unreachable` is what a start cannot do without. */
export interface OpenedService {
  readonly service: Service | undefined;
  readonly problems: readonly Problem[];
  readonly unreachable: string | undefined;
}

export interface OpenOptions {
  readonly report: Report;
  /** False leaves the connections alone: templates are parsed, not planned. */
  readonly connect: boolean;
  /** The system's folder for temporary files, used unless the project names one. */
  readonly temporary: string;
  readonly self: Self;
  /** For what libraries look up there, such as the credentials of a cloud. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nothing will be served: caches that are kept elsewhere are left alone. */
  readonly isTrial?: boolean;
}

const VERIFIED_AT_ONCE = 4;
/** Compiles and verifies every endpoint, against the connections that can be reached. */
export async function openService(project: Project, options: OpenOptions): Promise<OpenedService> {
  const compiled = project.endpoints.map((config) => compileEndpoint(config, project, engineType.dialect));
  const refreshes = compileRefreshes(project, compiled);
  const problems = [...compiled, ...refreshes].flatMap((each) => each.problems);
  const parent = project.main.duckdb.settings.get("temp_directory") || options.temporary;
  const spool = openSpool({ parent, self: options.self });
  let engine: Engine;
  try {
    engine = await openEngine(project.main, { secretUsers: secretUsersOf(project), fileFolder: spool.folder });
  } catch (error) {
    if (!(error instanceof EngineOpenError)) throw error;
    const problem = settingProblem(error, project.main);
    if (problem !== undefined) return { service: undefined, problems: [...problems, problem], unreachable: undefined };
    return { service: undefined, problems, unreachable: error.message };
  }
  // What cannot be reached now is a problem of the start, and is told as one.
  let starting = true;
  const sources = openSources(engine, (event) => starting || options.report(event));
  const sound = await parseInits(project.main, engine, problems);
  let unreachable = options.connect ? await connect(project.main, { sound, sources, problems }) : undefined;
  starting = false;
  // Before the templates: they may read the table of users.
  const authenticators = await openGuards(project, engine, options).catch((error: unknown) => {
    unreachable ??= error instanceof Error ? error.message : String(error);
  });
  const warnings = authenticators?.warnings ?? [];
  problems.push(...warnings.map(({ policy, message }) => warningOf(policy, message, project)));
  const opened = await openProjectCaches(project, {
    engine,
    definitions: refreshes.map(({ definition }) => definition),
    report: options.report,
    isTrial: options.isTrial ?? false,
  }).catch((error: unknown) => {
    unreachable ??= error instanceof Error ? error.message : String(error);
  });
  if (opened === undefined) {
    // Templates that read the caches would only say that these are not there.
    authenticators?.close();
    await engine.close();
    return { service: undefined, problems, unreachable };
  }
  problems.push(...opened.problems);
  const trials = refreshes.map(({ trial, problems: found }) => ({ endpoint: trial, problems: found }));
  const verified = await verifyAll([...compiled, ...trials], engine, sources);
  problems.push(...verified.problems);
  if (
    authenticators === undefined ||
    unreachable !== undefined ||
    problems.some(({ severity }) => severity === "error")
  ) {
    authenticators?.close();
    await opened.caches.close();
    await engine.close();
    return { service: undefined, problems, unreachable };
  }
  const rateLimiter = openRateLimiter({
    now: Date.now,
    report: options.report,
    policies: options.connect ? limitsOf(project) : [],
  });
  const { caches } = opened;
  const parts = { engine, spool, sources, authenticators, rateLimiter, caches };
  const served = verified.endpoints.slice(0, compiled.length);
  return { service: serviceOf(project, parts, served), problems, unreachable: undefined };
}

/** The refresh of each cache, once. */
function compileRefreshes(project: Project, compiled: readonly Compiled[]): readonly CompiledRefresh[] {
  const seen = new Set<string>();
  return project.endpoints.flatMap((config, index) => {
    const endpoint = compiled[index]?.endpoint;
    const { cache } = config;
    if (cache?.kind !== "table" || endpoint === undefined || seen.has(cacheKey(cache.name))) return [];
    const refresh = compileRefresh(config, endpoint, { project, dialect: engineType.dialect });
    if (refresh !== undefined) seen.add(cacheKey(cache.name));
    return refresh ?? [];
  });
}

interface Compiled {
  readonly endpoint: Endpoint;
  readonly problems: readonly Problem[];
}

/** Rejects when users whose passwords are elsewhere cannot be had: nobody could be let in. */
function openGuards(project: Project, engine: Engine, { connect, report, env }: OpenOptions): Promise<Authenticators> {
  const policies = connect ? policiesOf(project) : [];
  return openAuthenticators(policies, { engine, report, now: Date.now, fetch: globalThis.fetch, env });
}

function secretUsersOf(project: Project): readonly SecretUsers[] {
  return [...policiesOf(project)].flatMap((policy) => (policy.kind === "basic" && policy.secretUsers) || []);
}

/** At the block that brings the users. */
function warningOf(policy: AuthPolicy, message: string, { main, endpoints }: Project): Problem {
  const owner = main.protections.auth === policy ? main : (endpoints.find(({ auth }) => auth === policy) ?? main);
  const path = "auth.from-aws-secretmanager";
  return { severity: "warning", location: owner.locate(path.split(".")), path, message, security: true };
}

function policiesOf({ main, endpoints }: Project): ReadonlySet<AuthPolicy> {
  const all = [main.protections.auth, ...endpoints.map(({ auth }) => auth)];
  return new Set(all.filter((policy) => policy !== undefined));
}

function limitsOf({ endpoints }: Project): readonly RateLimitPolicy[] {
  return endpoints.flatMap(({ rateLimit }) => rateLimit ?? []);
}

interface Parts {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly sources: Sources;
  readonly authenticators: Authenticators;
  readonly rateLimiter: RateLimiter;
  readonly caches: Caches;
}

function serviceOf(
  project: Project,
  { engine, spool, sources, authenticators, rateLimiter, caches }: Parts,
  verified: readonly Verified[],
): Service {
  const endpoints = verified.map(({ endpoint }) => endpoint);
  const late = new Map<Endpoint, Promise<Endpoint> | undefined>();
  for (const { endpoint, depth } of verified) if (depth === "parse") late.set(endpoint, undefined);
  return {
    project,
    engine,
    spool,
    endpoints,
    routes: buildRouteTable(endpoints),
    sources,
    authenticators,
    rateLimiter,
    caches,
    cacheCatalog: project.main.cache?.catalog ?? "cache",
    limits: project.main.limits,
    idempotentAnswers: openIdempotentAnswers({
      engine,
      durable: project.main.duckdb.path !== undefined,
      now: Date.now,
    }),
    ready(endpoint) {
      if (!late.has(endpoint)) return endpoint;
      const known = late.get(endpoint) ?? verifyLate(endpoint, engine, sources);
      late.set(endpoint, known);
      // What fails now may work next time: the source may be back.
      known.catch(() => late.set(endpoint, undefined));
      return known;
    },
    async close() {
      authenticators.close();
      await rateLimiter.close();
      await caches.close();
      await engine.close();
      await spool.close();
    },
  };
}

/** An endpoint whose connections could not be reached at start is verified when they can. */
async function verifyLate(endpoint: Endpoint, engine: Engine, sources: Sources): Promise<Endpoint> {
  await sources.open(endpoint.connections);
  const { endpoint: verified, problems } = await verifyEndpoint(endpoint, engine, "plan");
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new RequestFailure({ kind: "query-failed", message: error.message });
  return verified;
}

interface Verified {
  readonly endpoint: Endpoint;
  readonly depth: Depth;
}

async function verifyAll(
  compiled: readonly Compiled[],
  engine: Engine,
  sources: Sources,
): Promise<{ endpoints: readonly Verified[]; problems: readonly Problem[] }> {
  const results: { verified: Verified; problems: readonly Problem[] }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < compiled.length; index = next++) {
      const { endpoint, problems } = compiled[index] as Compiled;
      const depth: Depth = endpoint.connections.every(sources.isOpen) ? "plan" : "parse";
      // A template with problems of its own gives the database only nonsense to complain about.
      const broken = problems.some(({ severity }) => severity === "error");
      const result = broken ? { endpoint, problems: [] } : await verifyEndpoint(endpoint, engine, depth);
      results[index] = { verified: { endpoint: result.endpoint, depth }, problems: result.problems };
    }
  };
  await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, work));
  return {
    endpoints: results.map(({ verified }) => verified),
    problems: results.flatMap(({ problems }) => problems),
  };
}
