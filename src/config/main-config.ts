import { basename, dirname, extname, resolve } from "node:path";
import { credentialsIn, isCredentialName } from "../secrets.ts";
import { compileAccess } from "./access-config.ts";
import { compileCacheStorage } from "./cache-config.ts";
import type { Files } from "./files.ts";
import { isFlapiFile } from "./flapi-keys.ts";
import { compileMcp } from "./mcp-config.ts";
import { compileObservability } from "./observability-config.ts";
import type { ConnectionConfig, Limits, MainConfig } from "./project.ts";
import { isRemote } from "./remote-address.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import type { ConnectionInput } from "./schema/connections.ts";
import { type LogLevel, logLevels, type MainInput } from "./schema/main.ts";
import { keyLocation, type NodePositions, positionsAt, type Report, secretsIn } from "./tree.ts";

/** Command-line options. They override the environment and the file. */
export interface Overrides {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly logFormat?: "pretty" | "json" | undefined;
}

export interface MainSource {
  /** Absolute path. */
  readonly file: string;
  readonly input: MainInput;
  readonly positions: NodePositions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly overrides: Overrides;
  readonly files: Files;
}

/** In JSON, one byte may become six, and a Node buffer has at most 4 GiB. */
const LONGEST_VALUE = 512 * 1_048_576;

/** Compiles the main file, with defaults and overrides. */
export function compileMain(source: MainSource, report: Report): MainConfig {
  const { file, input, positions, overrides } = source;
  const folder = dirname(file);
  const reporter = reporterOf(positions, report);
  const connections = Object.entries(input.connections).map(([name, connection]) =>
    compileConnection(name, connection, { folder, positions: positionsAt(positions, ["connections", name]) }),
  );
  const host =
    overrides.host ??
    readVariable(source.env, "EIDER_HOST") ??
    readVariable(source.env, "FLAPI_HOST") ??
    input["http-host"];
  const http = {
    host,
    port: overrides.port ?? environmentPort(source, reporter) ?? input["http-port"],
  };
  return {
    file,
    folder,
    name: input["project-name"] ?? basename(file, extname(file)),
    description: input["project-description"],
    version: input["project-version"],
    http,
    ...compileTemplatePath(input.template.path, folder),
    connections: new Map(connections.map((connection) => [connection.name, connection])),
    duckdb: compileDuckdb(input.duckdb, source),
    limits: compileLimits(input, reporter),
    httpStatus: input["http-status"],
    docs: compileDocs(input, reporter),
    mcp: compileMcp({ input, positions, folder, http, isFlapi: isFlapiFile(file), files: source.files }, report),
    cache: compileCacheStorage({ input, positions, folder }, report),
    access: compileAccess({ input, positions, folder, host }, report),
    log: {
      level: overrides.logLevel ?? environmentLogLevel(source, reporter) ?? input.log.level,
      format: overrides.logFormat ?? input.log.format,
      slowQueryMs: input.log["slow-query"],
    },
    observability: compileObservability({ input, positions, http }, report),
    locate: (path) => keyLocation(positions, path),
  };
}

function compileTemplatePath(path: string, folder: string): Pick<MainConfig, "templatePath" | "templateAddress"> {
  return isRemote(path)
    ? { templatePath: folder, templateAddress: path }
    : { templatePath: resolve(folder, path), templateAddress: undefined };
}

function compileConnection(
  name: string,
  input: ConnectionInput,
  { folder, positions }: { readonly folder: string; readonly positions: NodePositions },
): ConnectionConfig {
  const properties = mapValues(input.properties, (value) => toAbsolute(value, folder));
  return {
    name,
    init: input.init,
    type: input.type,
    engine: input.engine === "duckdb" ? undefined : input.engine,
    options: mapValues(input.options, (value) => toAbsolute(value, folder)),
    properties: new Map(Object.entries(properties)),
    readOnly: input["read-only"],
    lazy: input.lazy,
    connectTimeoutMs: input["connect-timeout"],
    maxConcurrency: input["max-concurrency"],
    logQueries: input["log-queries"],
    logParameters: input["log-parameters"],
    secrets: [...new Set([...secretsIn(positions), ...secretsOf(input)])],
  };
}

/** Values of keys that name credentials, and credentials inside connection strings and `init`. */
function secretsOf({ init = "", options, properties }: ConnectionInput): readonly string[] {
  const named = [...Object.entries(options), ...Object.entries(properties)].flatMap(([key, value]) =>
    isCredentialName(key) && value !== "" ? value : credentialsIn(value),
  );
  return [...named, ...credentialsIn(init)];
}

function compileDuckdb(input: Readonly<Record<string, string>>, { file, env }: MainSource): MainConfig["duckdb"] {
  const folder = dirname(file);
  const { db_path: path, ...rest } = input;
  const inMemory = path === undefined || path === "" || path === ":memory:";
  const settings = Object.entries(rest).map(
    ([name, value]) => [name, isExtensionFolder(name, value) ? resolve(folder, inHome(value, env)) : value] as const,
  );
  return { path: inMemory ? undefined : resolve(folder, path), settings: new Map(settings) };
}

/** An empty value means DuckDB's own folder. */
function isExtensionFolder(name: string, value: string): boolean {
  return name.toLowerCase() === "extension_directory" && value !== "";
}

/** As DuckDB reads `~`. */
function inHome(path: string, env: MainSource["env"]): string {
  return path.replace(/^~(?=$|[\\/])/, () => readVariable(env, "HOME") ?? "~");
}

function compileDocs({ docs, auth }: MainInput, { keyError }: Reporter): MainConfig["docs"] {
  if (!docs.enabled) return undefined;
  if (docs.auth && auth?.enabled !== true) {
    keyError(["docs", "auth"], "there is no auth block; add one, or remove this key");
  }
  return { needsAuth: docs.auth };
}

function compileLimits({ limits }: MainInput, { error, isWritten }: Reporter): Limits {
  const { "max-page-size": maxPageSize, "default-page-size": wanted, "max-value-bytes": maxValueBytes } = limits;
  const path = ["limits", "default-page-size"];
  if (wanted > maxPageSize && isWritten(path)) {
    error(path, `${wanted} is more than max-page-size, ${maxPageSize}; make it smaller`);
  }
  if (maxValueBytes > LONGEST_VALUE) {
    error(
      ["limits", "max-value-bytes"],
      `${maxValueBytes} is more than a response can contain; expected at most 512MiB`,
    );
  }
  return {
    maxBodyBytes: limits["max-body-bytes"],
    maxPageSize,
    defaultPageSize: Math.min(wanted, maxPageSize),
    queryTimeoutMs: limits["query-timeout"],
    maxConcurrentQueries: limits["max-concurrent-queries"],
    maxQueuedRequests: limits["max-queued-requests"],
    maxBufferedBytes: limits["max-buffered-bytes"],
    maxValueBytes,
    stalledClientTimeoutMs: limits["stalled-client-timeout"],
    shutdownGraceMs: limits["shutdown-grace"],
  };
}

function environmentPort({ env }: MainSource, { keyError }: Reporter): number | undefined {
  const name = readVariable(env, "EIDER_PORT") === undefined ? "FLAPI_PORT" : "EIDER_PORT";
  const text = readVariable(env, name);
  if (text === undefined) return undefined;
  // Unlike Eider, flAPI does not accept 0 for any free port.
  const least = name === "FLAPI_PORT" ? 1 : 0;
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= least && port <= 65_535) return port;
  keyError(["http-port"], `invalid ${name} '${text}' in the environment; expected a port, ${least} to 65535`);
  return undefined;
}

function environmentLogLevel({ env }: MainSource, { keyError }: Reporter): LogLevel | undefined {
  const text = readVariable(env, "FLAPI_LOG_LEVEL");
  if (text === undefined) return undefined;
  const level = logLevelOf(text);
  if (level !== undefined) return level;
  const known = logLevels.join(", ");
  keyError(["log", "level"], `invalid log level '${text}' in the environment (FLAPI_LOG_LEVEL); use one of ${known}`);
  return undefined;
}

/** A level of Eider, or flAPI's `warning`. */
export function logLevelOf(text: string): LogLevel | undefined {
  return text === "warning" ? "warn" : logLevels.find((level) => level === text);
}

function mapValues(
  record: Readonly<Record<string, string>>,
  map: (value: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** Paths in properties and options are relative to the main file, not to the working directory. */
function toAbsolute(value: string, folder: string): string {
  return value.startsWith("./") || value.startsWith("../") ? resolve(folder, value) : value;
}

/** An empty variable counts as not set. */
function readVariable(env: MainSource["env"], name: string): string | undefined {
  return env[name] === "" ? undefined : env[name];
}
