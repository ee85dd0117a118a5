import { redaction } from "../audit/redaction.ts";
import { type Authenticators, openAuthenticators } from "../auth/authenticators.ts";
import type { AuthPolicy } from "../auth/policy.ts";
import type { Caches } from "../cache/caches.ts";
import { type ConnectionStatus, reasonOf } from "../calls/connection-status.ts";
import type { CallServices } from "../calls/run-endpoint.ts";
import { hasErrors, type Problem } from "../config/problem.ts";
import type { MainConfig, Project } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { settingsChangedByWrites } from "../endpoint/settable.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { engine as engineType } from "../engines/index.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { RateLimiter } from "../rate-limit/rate-limiter.ts";
import { runInSlices } from "../slices.ts";
import { type CompiledProject, compileProject, type KnownEndpoints, NO_KNOWN_ENDPOINTS } from "./compile-project.ts";
import { type OpenedCaches, openProjectCaches } from "./project-caches.ts";
import { type OpenOptions, openSharedState, policiesOf, type SharedState, sharedStateKey } from "./shared-state.ts";
import { openVerification, type Verification, type VerifiedEndpoint } from "./verify-endpoints.ts";

export type { OpenOptions } from "./shared-state.ts";

/** An open project: its endpoints are compiled and verified, its database is open, but no port is. */
export interface Service extends CallServices {
  readonly project: Project;
  readonly endpoints: readonly Endpoint[];
  readonly connectionStatus: ConnectionStatus;
  readonly authenticators: Authenticators;
  readonly rateLimiter: RateLimiter;
  readonly sharedState: SharedState;
  /** For the next reload. */
  readonly known: KnownEndpoints;
  close(): Promise<void>;
  /** After a reload: closes what the new version does not share. */
  retire(next: Service): void;
}

/** `unreachable` is a message about what could not be opened or reached. */
export interface OpenedService {
  readonly service: Service | undefined;
  readonly problems: readonly Problem[];
  readonly unreachable: string | undefined;
}

/** Compiles every endpoint and verifies it against the connections that can be reached. */
export async function openService(project: Project, options: OpenOptions): Promise<OpenedService> {
  const compiled = await runInSlices(compileProject(project, NO_KNOWN_ENDPOINTS));
  const opened = await openSharedState(project, options);
  const { sharedState } = opened;
  const found = [...compiled.problems, ...opened.problems];
  if (sharedState === undefined) {
    return { service: undefined, problems: applyStrict(found, options.strict), unreachable: opened.unreachable };
  }
  const { service, ...version } = await openVersion(project, compiled, { sharedState, options, previous: undefined });
  const problems = applyStrict([...found, ...version.problems], options.strict);
  const unreachable = opened.unreachable ?? version.unreachable;
  if (service === undefined || unreachable !== undefined || hasErrors(problems)) {
    await (service ?? sharedState).close();
    return { service: undefined, problems, unreachable };
  }
  if (options.purpose === "serve") service.caches.start();
  return { service, problems, unreachable };
}

/** With `--strict`, security warnings become errors. */
export function applyStrict(problems: readonly Problem[], strict = false): readonly Problem[] {
  return strict
    ? problems.map((problem) => (problem.security === true ? { ...problem, severity: "error" } : problem))
    : problems;
}

/** Whether a project can replace another without reopening the database. */
export function canShareState(project: Project, previous: Service): boolean {
  return sharedStateKey(project) === previous.sharedState.key;
}

/**
 * Opens a new version on the same database, for a project that passes `canShareState`. The current version keeps serving until
 * the caller retires it. Endpoints whose files have not changed are neither compiled nor, usually, verified again.
 */
export async function reopenService(project: Project, previous: Service, options: OpenOptions): Promise<OpenedService> {
  const compiled = await runInSlices(compileProject(project, previous.known));
  const outdated = await refreshCatalogs(project.main, previous.engine);
  const version = await openVersion(project, compiled, { sharedState: previous.sharedState, options, previous });
  const { service, unreachable } = version;
  const problems = applyStrict([...compiled.problems, ...outdated, ...version.problems], options.strict);
  if (service === undefined || hasErrors(problems)) {
    service?.retire(previous);
    return { service: undefined, problems, unreachable };
  }
  await service.caches.redefine(compiled.refreshes.map(({ definition }) => definition));
  if (previous.caches !== service.caches) service.caches.start();
  return { service, problems, unreachable: undefined };
}

/** The tables of database servers may have changed. If that cannot be found out now, those known before are used. */
async function refreshCatalogs({ locate }: MainConfig, engine: EmbeddedEngine): Promise<readonly Problem[]> {
  const reason = await engine.refreshCatalogs().then(
    (isDone) => (isDone ? undefined : "queries are running"),
    (error: unknown) => {
      if (error instanceof RequestFailure && error.failure.kind === "connection-down") return reasonOf(error);
      throw error;
    },
  );
  if (reason === undefined) return [];
  const message = `changes to the tables of database servers are not noticed, because ${reason}; reload again later`;
  return [{ severity: "warning", location: locate(["connections"]), path: "connections", message }];
}

interface VersionContext {
  readonly sharedState: SharedState;
  readonly options: OpenOptions;
  readonly previous: Service | undefined;
}

/** Opens everything above the shared state. The caller closes a service that it does not use. */
async function openVersion(
  project: Project,
  compiled: CompiledProject,
  context: VersionContext,
): Promise<OpenedService> {
  const { engines, connectionStatus } = context.sharedState;
  // Before verification: templates may read the table of users.
  const authenticators = await openServiceAuthenticators(project, context).catch(errorMessage);
  // Without caches or users, the templates that read them are not verified: their errors would only mislead.
  if (typeof authenticators === "string") return { service: undefined, problems: [], unreachable: authenticators };
  const problems = authenticators.warnings.map(({ policy, message }) => warningOf(policy, message, project));
  const opened = await cachesOf(project, compiled, context).catch(errorMessage);
  if (typeof opened === "string") {
    closeAuthenticators(authenticators, context.previous);
    return { service: undefined, problems, unreachable: opened };
  }
  problems.push(...opened.problems);
  await engines.engine.lock(settingsChangedByWrites(project, engineType.dialect));
  const verification = openVerification(compiled, {
    engines,
    connectionStatus,
    inits: [...project.main.connections.values()].flatMap(({ init }) => init ?? []),
    toleratesMissing: context.options.purpose === "serve",
  });
  const verified = await verification.verifyAll();
  problems.push(...verified.problems);
  for (const { endpoint } of verified.endpoints) reportRefusedKeys(endpoint, context.options.report);
  const known = { compiled: compiled.ownResults, checks: checksOf(project, verified.endpoints) };
  const parts = { sharedState: context.sharedState, authenticators, caches: opened.caches, verification, known };
  return { service: serviceOf(project, parts, verified.endpoints), problems, unreachable: undefined };
}

function checksOf({ endpoints }: Project, verified: readonly VerifiedEndpoint[]): KnownEndpoints["checks"] {
  return new Map(
    endpoints.flatMap((config, index) => {
      const check = verified[index]?.check;
      return check === undefined ? [] : [[config, check]];
    }),
  );
}

function reportRefusedKeys({ name, operation }: Endpoint, report: Report): void {
  if (operation.kind !== "write" || operation.recordStore?.kind !== "none") return;
  report({ kind: "keys-refused", endpoint: name, reason: operation.recordStore.reason });
}

function closeAuthenticators(authenticators: Authenticators, previous: Service | undefined): void {
  if (previous === undefined) authenticators.close();
  else authenticators.closeUnshared(previous.authenticators);
}

async function cachesOf(
  project: Project,
  { refreshes }: CompiledProject,
  { sharedState, options }: VersionContext,
): Promise<OpenedCaches> {
  // Caches outlive a reload. They are redefined once the new version is valid.
  return await sharedState.caches(() =>
    openProjectCaches(project, {
      ...sharedState.engines,
      isOpen: sharedState.connectionStatus.isOpen,
      definitions: refreshes.map(({ definition }) => definition),
      report: options.report,
      purpose: options.purpose,
    }),
  );
}

/** Rejects when users in AWS Secrets Manager are unavailable: no client could authenticate. */
function openServiceAuthenticators(
  project: Project,
  { sharedState, options, previous }: VersionContext,
): Promise<Authenticators> {
  const { connect, report, env } = options;
  const { engine } = sharedState.engines;
  return openAuthenticators(connect ? policiesOf(project) : [], {
    engine,
    report,
    now: Date.now,
    fetch: globalThis.fetch,
    env: { ...project.envFile, ...env },
    previous: previous?.authenticators,
  });
}

/** A warning that points to the `auth` block that reads the users. */
function warningOf(policy: AuthPolicy, message: string, { main, endpoints }: Project): Problem {
  const owner = main.access.auth === policy ? main : (endpoints.find(({ auth }) => auth === policy) ?? main);
  const path = "auth.from-aws-secretmanager";
  return { severity: "warning", location: owner.locate(path.split(".")), path, message, security: true };
}

interface ServiceParts {
  readonly sharedState: SharedState;
  readonly authenticators: Authenticators;
  readonly caches: Caches;
  readonly verification: Verification;
  readonly known: KnownEndpoints;
}

function serviceOf(
  project: Project,
  { sharedState, authenticators, caches, verification, known }: ServiceParts,
  verified: readonly VerifiedEndpoint[],
): Service {
  const { engines, spool, connectionStatus, rateLimiter, idempotentResponses } = sharedState;
  const endpoints = verified.map(({ endpoint }) => endpoint);
  return {
    ...engines,
    project,
    spool,
    endpoints,
    connectionStatus,
    authenticators,
    rateLimiter,
    sharedState,
    known,
    caches,
    cacheCatalog: project.main.cache?.catalog ?? "cache",
    keepsRowOrder: keepsRowOrder(project.main),
    isRedacted: redaction(project.main.access.redact),
    limits: project.main.limits,
    idempotentResponses,
    writeFailure: () => (sharedState.hasCopies() ? { kind: "database-in-use" } : undefined),
    prepare: prepareWith(verified, verification),
    verifyWithoutConnections: (endpoint) => verification.verifyNow({ ...endpoint, connections: [] }),
    async close() {
      authenticators.close();
      await sharedState.close();
    },
    retire: (next) => authenticators.closeUnshared(next.authenticators),
  };
}

/** False if the project may have set `preserve_insertion_order`. */
function keepsRowOrder({ duckdb, connections }: MainConfig): boolean {
  const texts = [...duckdb.settings.keys(), ...[...connections.values()].map(({ init }) => init ?? "")];
  return !texts.some((text) => /preserve_insertion_order/i.test(text));
}

/** Endpoints that could not be verified fully at startup are verified by their first call. */
function prepareWith(verified: readonly VerifiedEndpoint[], verification: Verification): CallServices["prepare"] {
  const late = new Map<Endpoint, Promise<Endpoint> | undefined>();
  for (const { endpoint, isLate } of verified) if (isLate) late.set(endpoint, undefined);
  return (endpoint) => {
    if (!late.has(endpoint)) return endpoint;
    const known = late.get(endpoint) ?? verification.verifyLate(endpoint);
    late.set(endpoint, known);
    // The next call retries.
    known.catch(() => late.set(endpoint, undefined));
    return known;
  };
}
