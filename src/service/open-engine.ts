import type { SecretUsers } from "../auth/policy.ts";
import { initConnection } from "../auth/secret-users.ts";
import { type ConnectionStatus, reasonOf } from "../calls/connection-status.ts";
import { initOf } from "../config/connection-init.ts";
import { fileIdentity, readTextFile } from "../config/files.ts";
import type { Problem } from "../config/problem.ts";
import type { ConnectionConfig, MainConfig } from "../config/project.ts";
import type { EmbeddedEngine, OpenOptions, ReplacedFile } from "../engines/embedded-engine.ts";
import type { Engine, EngineOpenError } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { engine as engineType, remoteEngines } from "../engines/index.ts";
import { availableCores, availableMemory, residentMemory } from "../engines/machine.ts";
import { openingText } from "../failure-response.ts";
import type { Spool } from "../spool/spool.ts";
import { withTimeLimit } from "../time-limit.ts";
import { queryLimits } from "./query-limits.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface EngineParts {
  readonly secretUsers: readonly SecretUsers[];
  readonly spool: Spool;
  readonly workingFolder?: string | undefined;
  /** Called after a read-only database file has been replaced, even if the new one cannot be used. */
  readonly onFileReplaced?: (file: ReplacedFile) => void;
  readonly onCheckpointFailed?: (message: string) => void;
  readonly copyLocked: OpenOptions["copyLocked"];
}

/** Opens the database of a project. Rejects with an EngineOpenError. */
export async function openEngine(main: MainConfig, parts: EngineParts): Promise<EmbeddedEngine> {
  const { secretUsers, spool, workingFolder, onFileReplaced, onCheckpointFailed, copyLocked } = parts;
  const inits = new Map(secretUsers.flatMap((users) => initConnection(users) ?? []).map((init) => [init.name, init]));
  const spillFolder = await spool.makeSpill();
  const opening = engineType.open({
    workingFolder,
    fileFolder: spool.folder,
    linkFiles: spool.linkFiles,
    spillFolder,
    memoryBytes: availableMemory(readTextFile),
    residentBytes: () => residentMemory(readTextFile),
    fileIdentity,
    onFileReplaced,
    onCheckpointFailed,
    copyLocked,
    path: main.duckdb.path,
    settings: main.duckdb.settings,
    connections: [
      ...[...main.connections.values()].filter(isEmbedded).map((connection) => ({
        name: connection.name,
        init: initOf(connection),
        secrets: connection.secrets,
        maxConcurrency: connection.maxConcurrency,
        properties: [...connection.properties.values()],
      })),
      ...inits.values(),
    ],
    ...queryLimits(main.limits.maxConcurrentQueries, availableCores(readTextFile)),
    maxQueued: main.limits.maxQueuedRequests,
    maxValueBytes: main.limits.maxValueBytes,
  });
  return opening.catch(async (error: unknown) => {
    await spool.close();
    throw error;
  });
}

function isEmbedded({ engine }: ConnectionConfig): boolean {
  return engine === undefined;
}

/** The engines on other machines, by the name of their connection. They connect when they are first needed. */
export function openRemoteEngines({ connections, limits }: MainConfig): ReadonlyMap<string, Engine> {
  return new Map(
    [...connections.values()].flatMap((connection) => {
      const type = remoteEngines.find(({ name }) => name === connection.engine);
      const { maxValueBytes, maxQueuedRequests: maxQueued } = limits;
      const open = { ...connection, maxValueBytes, maxQueued, readFile: readTextFile };
      return type === undefined ? [] : [[connection.name, type.open(open)]];
    }),
  );
}

/** The engine of each connection, and of lists of connections, which all belong to one engine. */
export function enginesOf(engine: EmbeddedEngine, remote: ReadonlyMap<string, Engine>): Engines {
  const ofName = (name: string | undefined): Engine => (name && remote.get(name)) || engine;
  return { engine, engineOf: remote.size === 0 ? () => engine : ([first]) => ofName(first) };
}

/** The setting that prevents the database from opening, as a problem; undefined for other errors. */
export function settingProblem({ setting, message }: EngineOpenError, main: MainConfig): Problem | undefined {
  if (setting === undefined) return undefined;
  return { severity: "error", location: main.locate(["duckdb", setting]), path: `duckdb.${setting}`, message };
}

/** Returns the connections whose `init` parses. Opens none, so a connection that is down hides no syntax error of another. */
export async function parseInits(
  main: MainConfig,
  { engineOf }: Engines,
  problems: Problem[],
): Promise<readonly ConnectionConfig[]> {
  const parsed: ConnectionConfig[] = [];
  for (const connection of main.connections.values()) {
    const { name, init } = connection;
    const problem = init === undefined ? undefined : await engineOf([name]).parse(init);
    // Other errors are ignored: an earlier statement may create a table that is missing now.
    if (problem === undefined || problem.kind !== "syntax") {
      parsed.push(connection);
      continue;
    }
    const location = main.locate(["connections", name, "init"]);
    problems.push({ severity: "error", location, path: `connections.${name}.init`, message: problem.message });
  }
  return parsed;
}

interface ConnectOptions {
  readonly parsed: readonly ConnectionConfig[];
  readonly connectionStatus: ConnectionStatus;
  readonly problems: Problem[];
  /** Whether a lazy connection may stay closed while another process has locked its file. */
  readonly waitsForLocks: boolean;
}

/** Opens every connection. If a lazy one is down, adds a warning. If any other is down, returns a message, and startup fails. */
export async function connect(
  main: MainConfig,
  { parsed, connectionStatus, problems, waitsForLocks }: ConnectOptions,
): Promise<string | undefined> {
  const failures: string[] = [];
  const open = async ({ name, lazy, connectTimeoutMs }: ConnectionConfig): Promise<void> => {
    const warn = (message: string): void => {
      problems.push({
        severity: "warning",
        location: main.locate(["connections", name]),
        path: `connections.${name}`,
        message: `connection ${message}, and their templates were parsed but not checked against the database`,
      });
    };
    const warnOpening = (): void => {
      warn(`${openingText({ connection: name, ms: connectTimeoutMs })}; calls to its endpoints wait for it`);
    };
    try {
      const opening = connectionStatus.open([name]);
      await (lazy ? withTimeLimit(opening, Math.min(connectTimeoutMs, LONGEST_TIMER_MS), warnOpening) : opening);
    } catch (error) {
      const message = `'${name}' cannot be reached: ${reasonOf(error)}`;
      const mustOpen = !lazy || (!waitsForLocks && engineType.isLocked(message));
      if (!mustOpen) warn(`${message}; its endpoints return 503 until it is back`);
      else failures.push(`connection ${message}`);
    }
  };
  // Others may need their secrets.
  await Promise.all(parsed.filter(createsSecret).map(open));
  await Promise.all(parsed.filter((connection) => !createsSecret(connection)).map(open));
  return failures[0];
}

function createsSecret({ type }: ConnectionConfig): boolean {
  return engineType.connectionTypes.some((known) => known.type === type && known.isSecret === true);
}
