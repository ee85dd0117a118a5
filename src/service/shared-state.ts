import type { AuthPolicy, SecretUsers } from "../auth/policy.ts";
import type { Caches } from "../cache/caches.ts";
import { noCaches } from "../cache/no-caches.ts";
import { type ConnectionStatus, openConnectionStatus } from "../calls/connection-status.ts";
import { type IdempotentResponses, openIdempotentResponses } from "../calls/idempotency.ts";
import { observeEmbedded, observeEngine } from "../calls/observe-engine.ts";
import type { Problem } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import { openProjectSpool } from "../config/remote-copies.ts";
import { settingsChangedByWrites } from "../endpoint/settable.ts";
import type { EmbeddedEngine, LockedFile } from "../engines/embedded-engine.ts";
import { EngineOpenError } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { engine as engineType } from "../engines/index.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import { openRateLimiter, type RateLimiter } from "../rate-limit/rate-limiter.ts";
import type { Spool } from "../spool/spool.ts";
import type { CurrentProcess } from "../spool/sweep.ts";
import { connect, enginesOf, openEngine, openRemoteEngines, parseInits, settingProblem } from "./open-engine.ts";
import type { OpenedCaches, Purpose } from "./project-caches.ts";

export interface OpenOptions {
  readonly report: Report;
  /** If false, connections are not opened, and templates are only parsed. */
  readonly connect: boolean;
  /** The system's folder for temporary files, unless the project sets one. */
  readonly temporary: string;
  readonly self: CurrentProcess;
  /** The working directory. */
  readonly cwd?: string | undefined;
  /** Environment variables for libraries, such as cloud credentials. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly purpose: Purpose;
  /**
   * If set, a database file that another process has locked is read as a copy, and no write can run. Called once for each such
   * file. A connection whose file cannot be copied is unreachable, even if it is lazy.
   */
  readonly onLockedFile?: ((file: LockedFile) => void) | undefined;
  /** Whether security warnings are errors. */
  readonly strict?: boolean;
}

/** State that outlives a reload: the database, caches, rate limit counts. */
export interface SharedState {
  /** Equal for two projects that can share this state. */
  readonly key: string;
  readonly engines: Engines;
  readonly spool: Spool;
  readonly connectionStatus: ConnectionStatus;
  readonly rateLimiter: RateLimiter;
  readonly idempotentResponses: IdempotentResponses;
  /** Whether a database file is a copy. */
  hasCopies(): boolean;
  /** The caches, opened on first use. Rejects as `open` does. */
  caches(open: () => Promise<OpenedCaches>): Promise<OpenedCaches>;
  close(): Promise<void>;
}

/** `sharedState` is undefined when the database cannot be opened; `unreachable` is a message about what could not be reached. */
export interface OpenedSharedState {
  readonly sharedState: SharedState | undefined;
  readonly problems: readonly Problem[];
  readonly unreachable: string | undefined;
}

/** Identifies everything that the database and its connections are opened with. */
export function sharedStateKey(project: Project): string {
  const { duckdb, connections, limits, cache } = project.main;
  const parts = [
    duckdb,
    [...connections.values()].map(({ properties: _, ...connection }) => connection),
    [limits.maxConcurrentQueries, limits.maxQueuedRequests, limits.maxValueBytes],
    cache,
    secretUsersOf(project),
    // The settings that templates may change are fixed when the database is opened.
    [...settingsChangedByWrites(project, engineType.dialect)],
  ];
  return JSON.stringify(parts, (_, value: unknown) => (value instanceof Map ? [...value] : value));
}

/** Opens the database and its connections. */
export async function openSharedState(project: Project, options: OpenOptions): Promise<OpenedSharedState> {
  const { main } = project;
  const problems: Problem[] = [];
  const spool = openProjectSpool(main.duckdb.settings, options);
  const copies = new Map<string, Promise<string>>();
  const copyLocked = options.onLockedFile && copier(spool, copies, options.onLockedFile);
  let isLost = false;
  const onQueryFailed = (message: string): void => {
    if (isLost || !engineType.isLost(message)) return;
    isLost = true;
    options.report({ kind: "database-lost" });
  };
  let opened: EmbeddedEngine;
  try {
    opened = await openEngine(main, {
      secretUsers: secretUsersOf(project),
      spool,
      copyLocked,
      workingFolder: options.cwd,
      onFileReplaced: ({ name, problem }) => options.report({ kind: "file-replaced", database: name, problem }),
      onCheckpointFailed(message) {
        options.report({ kind: "checkpoint-failed", message });
        onQueryFailed(message);
      },
    });
  } catch (error) {
    if (!(error instanceof EngineOpenError)) throw error;
    const problem = settingProblem(error, main);
    return problem === undefined
      ? { sharedState: undefined, problems, unreachable: error.message }
      : { sharedState: undefined, problems: [problem], unreachable: undefined };
  }
  // A connection that is down at startup is reported as a problem, not as an event.
  let isStarting = true;
  const remote = openRemoteEngines(main);
  const { engineOf } = enginesOf(opened, remote);
  const report: Report = (event) => isStarting || options.report(event);
  const connectionStatus = openConnectionStatus((name) => engineOf([name]), report);
  const observers = { connectionStatus, onQueryFailed };
  const engine = observeEmbedded(opened, observers);
  const observed = new Map([...remote].map(([name, each]) => [name, observeEngine(each, observers)]));
  const engines = enginesOf(engine, observed);
  const parsed = await parseInits(main, engines, problems);
  const unreachable = options.connect
    ? await connect(main, { parsed, connectionStatus, problems, waitsForLocks: copyLocked === undefined })
    : undefined;
  isStarting = false;
  const rateLimiter = openRateLimiter({
    now: Date.now,
    report: options.report,
    policies: options.connect ? rateLimitsOf(project) : [],
  });
  let caches: Caches | undefined;
  const sharedState: SharedState = {
    key: sharedStateKey(project),
    engines,
    spool,
    connectionStatus,
    rateLimiter,
    idempotentResponses: openIdempotentResponses(Date.now),
    hasCopies: () => copies.size > 0,
    async caches(open) {
      if (caches !== undefined) return { caches, problems: [] };
      const found = await open();
      if (found.caches !== noCaches) ({ caches } = found);
      return found;
    },
    async close() {
      await rateLimiter.close();
      await caches?.close();
      await Promise.all([...remote.values(), engine].map((each) => each.close()));
      await spool.close();
    },
  };
  return { sharedState, problems, unreachable };
}

/** Copies each file once: all names for it show the same data. */
function copier(
  spool: Spool,
  copies: Map<string, Promise<string>>,
  onLockedFile: (file: LockedFile) => void,
): (file: LockedFile) => Promise<string> {
  const copy = async (file: LockedFile): Promise<string> => {
    try {
      const copied = await spool.copyDatabase(file.path);
      onLockedFile(file);
      return copied;
    } catch (error) {
      const owner = file.pid === undefined ? "another process" : `another process (PID ${file.pid})`;
      const reason = `${owner} has it open, and it cannot be copied: ${errorMessage(error)}`;
      // As DuckDB words it, so that `isLocked` recognizes it.
      throw new EngineOpenError(`Could not set lock on file "${file.path}": ${reason}`);
    }
  };
  return (file) => {
    const copied = copies.get(file.path) ?? copy(file);
    copies.set(file.path, copied);
    return copied;
  };
}

function secretUsersOf(project: Project): readonly SecretUsers[] {
  return [...policiesOf(project)].flatMap((policy) => (policy.kind === "basic" && policy.secretUsers) || []);
}

/** Every enabled `auth` block. */
export function policiesOf({ main, endpoints }: Project): ReadonlySet<AuthPolicy> {
  const all = [main.access.auth, main.mcp?.auth?.policy, ...endpoints.map(({ auth }) => auth)];
  return new Set(all.filter((policy) => policy !== undefined));
}

function rateLimitsOf({ endpoints }: Project): readonly RateLimitPolicy[] {
  return endpoints.flatMap(({ rateLimit }) => rateLimit ?? []);
}
