import { type Authenticators, openAuthenticators } from "./auth/authenticators.ts";
import type { AuthPolicy } from "./auth/policy.ts";
import { initConnection } from "./auth/secret-users.ts";
import { openIdempotentAnswers } from "./calls/idempotency.ts";
import type { Callee } from "./calls/run-endpoint.ts";
import { openSources, reasonOf, type Sources } from "./calls/sources.ts";
import type { Problem } from "./config/problem.ts";
import type { ConnectionConfig, MainConfig, Project } from "./config/project.ts";
import { compileEndpoint } from "./endpoint/compile-endpoint.ts";
import type { Endpoint } from "./endpoint/endpoint.ts";
import { type Depth, verifyEndpoint } from "./endpoint/verify-endpoint.ts";
import { type Engine, EngineOpenError } from "./engines/engine.ts";
import { engine as engineType } from "./engines/index.ts";
import type { Report } from "./events.ts";
import { RequestFailure } from "./failure.ts";
import type { RateLimitPolicy } from "./rate-limit/policy.ts";
import { openRateLimiter, type RateLimiter } from "./rate-limit/rate-limiter.ts";
import { buildRouteTable, type RouteTable } from "./rest/route-table.ts";
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
}

/** How long a start waits for its sources before it goes on without them. */
const SOURCE_PATIENCE_MS = 5_000;
const VERIFIED_AT_ONCE = 4;
/** More than the cores can work on, so that a few slow queries do not keep the quick ones waiting. */
const DEFAULT_CONCURRENT_QUERIES = 16;
const DEFAULT_QUEUED_REQUESTS = 1_000;

/** Compiles and verifies every endpoint, against the connections that can be reached. */
export async function openService(project: Project, options: OpenOptions): Promise<OpenedService> {
  const compiled = project.endpoints.map((config) => compileEndpoint(config, project, engineType.dialect));
  const problems = compiled.flatMap((each) => each.problems);
  const parent = project.main.duckdb.settings.get("temp_directory") || options.temporary;
  const spool = openSpool({ parent, self: options.self });
  let engine: Engine;
  try {
    engine = await openEngine(project, spool.folder);
  } catch (error) {
    return failedOpen(error, project.main, problems);
  }
  // What cannot be reached now is a problem of the start, and is told as one.
  let starting = true;
  const sources = openSources(engine, (event) => starting || options.report(event));
  const sound = await parseInits(project.main, engine, problems);
  const unreachable = options.connect ? await connect(project.main, { sound, sources, problems }) : undefined;
  starting = false;
  const verified = await verifyAll(compiled, engine, sources);
  problems.push(...verified.problems);
  if (unreachable !== undefined || problems.some(({ severity }) => severity === "error")) {
    await engine.close();
    return { service: undefined, problems, unreachable };
  }
  try {
    const authenticators = await openAuthenticators(options.connect ? policiesOf(project) : [], {
      engine,
      report: options.report,
      now: Date.now,
      fetch: globalThis.fetch,
      env: options.env,
    });
    problems.push(...authenticators.warnings.map(({ policy, message }) => warningOf(policy, message, project)));
    const rateLimiter = openRateLimiter({
      now: Date.now,
      report: options.report,
      policies: options.connect ? limitsOf(project) : [],
    });
    const parts = { engine, spool, sources, authenticators, rateLimiter };
    return { service: serviceOf(project, parts, verified.endpoints), problems, unreachable: undefined };
  } catch (error) {
    // Users whose passwords cannot be had: nobody could be let in.
    await engine.close();
    return { service: undefined, problems, unreachable: error instanceof Error ? error.message : String(error) };
  }
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
}

function serviceOf(
  project: Project,
  { engine, spool, sources, authenticators, rateLimiter }: Parts,
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

function openEngine(project: Project, fileFolder: string): Promise<Engine> {
  const { main } = project;
  const secretUsers = [...policiesOf(project)].flatMap(
    (policy) => (policy.kind === "basic" && policy.secretUsers) || [],
  );
  const inits = new Map(secretUsers.flatMap((users) => initConnection(users) ?? []).map((init) => [init.name, init]));
  return engineType.open({
    fileFolder,
    path: main.duckdb.path,
    settings: main.duckdb.settings,
    connections: [
      ...[...main.connections.values()].map((connection) => ({
        name: connection.name,
        init: initOf(connection),
        secrets: connection.secrets,
      })),
      ...inits.values(),
    ],
    maxConcurrentQueries: main.limits.maxConcurrentQueries ?? DEFAULT_CONCURRENT_QUERIES,
    maxQueued: main.limits.maxQueuedRequests ?? DEFAULT_QUEUED_REQUESTS,
  });
}

function initOf({ name, type, options, readOnly, init }: ConnectionConfig): string | undefined {
  const expanded = engineType.connectionTypes.find((known) => known.type === type)?.expand(options, { name, readOnly });
  return [expanded, init].filter((sql) => sql !== undefined).join(";\n") || undefined;
}

function failedOpen(error: unknown, main: MainConfig, problems: readonly Problem[]): OpenedService {
  if (!(error instanceof EngineOpenError)) throw error;
  const { setting, message } = error;
  if (setting === undefined) return { service: undefined, problems, unreachable: message };
  const problem: Problem = {
    severity: "error",
    location: main.locate(["duckdb", setting]),
    path: `duckdb.${setting}`,
    message,
  };
  return { service: undefined, problems: [...problems, problem], unreachable: undefined };
}

/** Connections whose `init` is SQL: what is not is found without reaching anything. */
async function parseInits(main: MainConfig, engine: Engine, problems: Problem[]): Promise<readonly ConnectionConfig[]> {
  const sound: ConnectionConfig[] = [];
  for (const connection of main.connections.values()) {
    const { name, init } = connection;
    const problem = init === undefined ? undefined : await engine.parse(init);
    if (problem === undefined) {
      sound.push(connection);
      continue;
    }
    const location = main.locate(["connections", name, "init"]);
    problems.push({ severity: "error", location, path: `connections.${name}.init`, message: problem.message });
  }
  return sound;
}

interface Connecting {
  readonly sound: readonly ConnectionConfig[];
  readonly sources: Sources;
  readonly problems: Problem[];
}

/** Opens every connection. One that is down is a warning; one that must not be (`lazy: false`) stops the start. */
async function connect(main: MainConfig, { sound, sources, problems }: Connecting): Promise<string | undefined> {
  const needed: string[] = [];
  await Promise.all(
    sound.map(async ({ name, lazy }) => {
      try {
        await inTime(sources.open([name]), lazy ? SOURCE_PATIENCE_MS : undefined);
      } catch (error) {
        const message = `connection '${name}' cannot be reached: ${reasonOf(error)}`;
        if (!lazy) needed.push(message);
        else {
          problems.push({
            severity: "warning",
            location: main.locate(["connections", name]),
            path: `connections.${name}`,
            message: `${message}; its endpoints answer 503 until it is back, and their templates were only parsed`,
          });
        }
      }
    }),
  );
  return needed[0];
}

function inTime<T>(work: Promise<T>, ms: number | undefined): Promise<T> {
  if (ms === undefined) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

interface Verified {
  readonly endpoint: Endpoint;
  readonly depth: Depth;
}

async function verifyAll(
  compiled: readonly { readonly endpoint: Endpoint; readonly problems: readonly Problem[] }[],
  engine: Engine,
  sources: Sources,
): Promise<{ endpoints: readonly Verified[]; problems: readonly Problem[] }> {
  const results: { verified: Verified; problems: readonly Problem[] }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < compiled.length; index = next++) {
      const { endpoint, problems } = compiled[index] as (typeof compiled)[number];
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
