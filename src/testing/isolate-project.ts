import { resolve } from "node:path";
import { initOf } from "../config/connection-init.ts";
import type { Problem } from "../config/problem.ts";
import type { ConnectionConfig, EndpointConfig, MainConfig, Project } from "../config/project.ts";
import { errorAt } from "../config/tree.ts";
import { engine } from "../engines/index.ts";
import { type DatabaseCopies, isDatabaseFile } from "../spool/database-copies.ts";
import type { Permission } from "../sql/privileged-action.ts";
import { isLocalFile, isolateSql, serverChange, unsafeReason } from "./init-statements.ts";

/** A project that cannot change the data of another: its database files are copies, and its servers are read-only. */
export interface IsolatedProject {
  readonly project: Project;
  /** Why it would change more than copies. If there are problems, the project must not be opened. */
  readonly problems: readonly Problem[];
  /** Why the endpoints in these files must not be called. */
  readonly forbidden: ReadonlyMap<string, string>;
  /** The connections that are read-only because of the tests. */
  readonly protectedConnections: readonly string[];
}

/** Rejects with a CopyError. */
export async function isolateProject(
  { main, endpoints, ...project }: Project,
  { copies, cwd }: { readonly copies: DatabaseCopies; readonly cwd: string },
): Promise<IsolatedProject> {
  const made = new Set<string>();
  const copyOf = async (path: string): Promise<string> => {
    const copy = await copies.copy(resolve(cwd, path));
    made.add(copy);
    return copy;
  };
  const connections = new Map<string, ConnectionConfig>();
  const protectedConnections: string[] = [];
  const problems: Problem[] = [];
  for (const connection of main.connections.values()) {
    const { isProtected, ...isolated } = await isolateConnection(connection, copyOf, cwd);
    connections.set(connection.name, isolated);
    if (isProtected) protectedConnections.push(connection.name);
    const sql = isolated.engine === undefined ? initOf(isolated) : undefined;
    const reason = sql === undefined ? undefined : unsafeReason(sql, (path) => made.has(path));
    const path = ["connections", connection.name];
    if (reason !== undefined) {
      problems.push(errorAt(main.locate([...path, "init"]), path, unsafeMessage(reason)));
    }
  }
  for (const { cache, locate } of endpoints) {
    const refresh = cache?.kind === "table" ? cache.refresh : undefined;
    const reason = refresh && unsafeReason(refresh.template.text, () => false);
    if (reason !== undefined) problems.push(errorAt(locate(["cache"]), ["cache"], unsafeMessage(reason)));
  }
  const { path, settings } = main.duckdb;
  return {
    project: {
      ...project,
      main: {
        ...withoutOutside(main),
        connections,
        duckdb: { path: path === undefined ? undefined : await copyOf(path), settings },
      },
      endpoints: endpoints.map((endpoint) => ({
        ...endpoint,
        // A test must not depend on how many ran before it.
        rateLimit: undefined,
        heartbeat: undefined,
        connections: endpoint.connections.map((each) => connections.get(each.name) ?? each),
      })),
    },
    problems,
    forbidden: new Map(
      endpoints.flatMap((endpoint) => {
        const reason = forbiddenReason(endpoint);
        return reason === undefined ? [] : [[endpoint.file, reason] as const];
      }),
    ),
    protectedConnections,
  };
}

function unsafeMessage(reason: string): string {
  return `tests must not change the data itself: ${reason}`;
}

/** Without listeners, files and servers that others use: audit file, cache file, certificates, counters in Redis. */
function withoutOutside(main: MainConfig): MainConfig {
  const { cache, access } = main;
  return {
    ...main,
    cache: cache && { ...cache, backend: { kind: "duckdb", path: undefined } },
    access: { ...access, https: undefined, audit: undefined, rateLimit: undefined },
  };
}

async function isolateConnection(
  connection: ConnectionConfig,
  copyOf: (path: string) => Promise<string>,
  cwd: string,
): Promise<ConnectionConfig & { readonly isProtected: boolean }> {
  const { type, options, properties, init, readOnly } = connection;
  const option = engine.connectionTypes.find((known) => known.type === type)?.databaseFile;
  const file = option === undefined ? undefined : options[option];
  const isFile = option !== undefined && file !== undefined && isLocalFile(file);
  const copied = new Map<string, string>();
  for (const [key, value] of properties) {
    const isDatabase = isLocalFile(value) && (await isDatabaseFile(resolve(cwd, value)));
    copied.set(key, isDatabase ? await copyOf(value) : value);
  }
  const own = init === undefined || connection.engine !== undefined ? undefined : await isolateSql(init, copyOf);
  const isServer = connection.engine !== undefined || (type !== undefined && !isFile);
  return {
    ...connection,
    options: isFile ? { ...options, [option]: await copyOf(file) } : options,
    properties: copied,
    init: own?.sql ?? init,
    readOnly: readOnly || isServer,
    isProtected: (isServer && !readOnly) || own?.isProtected === true,
  };
}

/** What these permissions allow affects more than the copy of the data. */
const UNSAFE_PERMISSIONS: ReadonlySet<Permission> = new Set(["attach", "copy", "secret"]);

function forbiddenReason({ operation, template, connections }: EndpointConfig): string | undefined {
  const change = serverChange(template?.text ?? "");
  if (change !== undefined || operation.kind !== "write") return change;
  const allowed = operation.allow.find((permission) => UNSAFE_PERMISSIONS.has(permission));
  if (allowed !== undefined) return `'operation.allow: ${allowed}' lets it change more than the copy of the data`;
  const remote = connections.find((connection) => connection.engine !== undefined);
  return remote && `it writes to '${remote.name}', a server, which cannot be copied`;
}
