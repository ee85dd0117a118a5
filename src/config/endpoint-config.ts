import { compileEndpointAccess, type EndpointAccess } from "./access-config.ts";
import { type CacheStorage, compileEndpointCache } from "./cache-config.ts";
import { compileHeartbeat } from "./heartbeat.ts";
import { compileStatuses } from "./http-status.ts";
import { compileMcpEntry } from "./mcp-entry.ts";
import { compileParameters } from "./parameters.ts";
import type { Complain, KeyPath } from "./problem.ts";
import type { ConnectionConfig, EndpointConfig, Limits, OperationConfig, RestConfig } from "./project.ts";
import { insecureAddressWarning } from "./remote-address.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import type { EndpointInput, Method } from "./schema/endpoint.ts";
import type { HttpStatusInput } from "./schema/http-status.ts";
import { unknownMessage } from "./suggest.ts";
import { type FindTemplate, UNREAD } from "./template-file.ts";
import { keyLocation, type NodePositions, type Report, type SourceFile } from "./tree.ts";
import { parseUrlPath, type UrlPath } from "./url-path.ts";

export interface EndpointSource {
  /** Absolute path. */
  readonly path: string;
  /** The same path, as shown in messages. */
  readonly file: string;
  readonly input: EndpointInput;
  readonly positions: NodePositions;
  /** Top-level keys with a problem. In `input`, they have their defaults. */
  readonly broken: ReadonlySet<string>;
}

export interface EndpointContext {
  readonly connections: ReadonlyMap<string, ConnectionConfig>;
  /** False if the connections have a problem. An unknown name may then refer to one of them. */
  readonly connectionsAreValid: boolean;
  readonly findTemplate: FindTemplate;
  /** The global blocks, for endpoints without their own. */
  readonly access: EndpointAccess;
  /** Undefined if caching is disabled. */
  readonly cacheStorage: CacheStorage | undefined;
  readonly limits: Limits;
  /** The statuses of writes, unless the endpoint overrides them. */
  readonly httpStatus: HttpStatusInput;
  /** Whether the project was written for flAPI. */
  readonly isFlapi: boolean;
  /** Whether the main file enables heartbeats. */
  readonly hasHeartbeats: boolean;
  readonly report: Report;
}

export interface EndpointConfigResult {
  readonly config: EndpointConfig;
  /** One of its templates is remote and has not been read. */
  readonly isUnread: boolean;
}

/** Builds the configuration of an endpoint, and checks the rules that involve several keys. Omits the parts with problems. */
export function buildEndpointConfig(source: EndpointSource, context: EndpointContext): EndpointConfigResult {
  const { input, positions, broken } = source;
  const reporter = reporterOf(positions, context.report);
  const { error: complain, warning: warn } = reporter;
  checkKinds(source, complain);

  const urlPath = input["url-path"] === undefined ? undefined : parseUrlPath(input["url-path"]);
  if (typeof urlPath === "string") complain(["url-path"], urlPath);
  const { method, returns } = input;
  const paginated = input["with-pagination"] && returns === "many";
  const validPath =
    typeof urlPath === "object" && !broken.has("request") && !broken.has("method") ? urlPath : undefined;
  const rest: RestConfig | undefined = typeof urlPath === "object" ? { method, urlPath: urlPath.path } : undefined;

  const templates = templatesOf(source, context, reporter);
  const operation = operationOf(input, { method, httpStatus: context.httpStatus, reporter });
  checkReturns(source, operation, reporter);
  const parameters = compileParameters(input.request, { rest: restRules(validPath, method) }, complain);
  const compileCache = () =>
    compileEndpointCache(input.cache, {
      storage: context.cacheStorage,
      operation: operation.kind,
      refreshTemplate: templates.refresh,
      template: templates.own?.text,
      fallbackName: fallbackName(rest, input),
      complain,
      warn,
    });
  const config: EndpointConfig = {
    file: source.file,
    rest,
    mcp: compileMcpEntry(input, { method, operation: operation.kind, names: fieldNames(source) }, complain),
    summary: input.summary,
    description: input.description,
    tags: input.tags,
    deprecated: input.deprecated,
    template: templates.own,
    connections: connectionsOf(source, context, reporter),
    parameters,
    returns,
    paginated,
    rejectsUnknownParams: input["request-fields-validation"],
    operation,
    ...compileEndpointAccess(source, context.access, context.report),
    maxConcurrency: input["max-concurrency"],
    cache: templates.isUnread ? undefined : compileCache(),
    heartbeat: compileHeartbeat(input, {
      operation: operation.kind,
      parameters: broken.has("request") ? undefined : parameters,
      page: { ...context.limits, paginated },
      isOn: context.hasHeartbeats,
      complain,
      warn,
      reportUnknown: context.isFlapi ? warn : complain,
    }),
    locate: (path) => keyLocation(positions, path),
  };
  return { config, isUnread: templates.isUnread };
}

/** Undefined if the entries have problems. An unknown name may then be one of them. */
function fieldNames({ input, broken }: EndpointSource): readonly string[] | undefined {
  return broken.has("request") ? undefined : input.request.map((entry) => entry["field-name"]);
}

function restRules(urlPath: UrlPath | undefined, method: Method) {
  return urlPath === undefined ? undefined : { method, urlPath };
}

/** One file declares one endpoint: REST, one MCP kind, or REST with a tool or a resource. */
function checkKinds({ positions }: EndpointSource, complain: Complain): void {
  const has = (key: string) => positions.children?.has(key) === true;
  const [first, second] = ["mcp-tool", "mcp-resource", "mcp-prompt"].filter(has);
  if (second !== undefined) complain([second], `a file holds one MCP kind, and this one has '${first}' too; split it`);
  if (has("url-path") && has("mcp-prompt")) {
    complain(["mcp-prompt"], "a prompt runs no SQL and has no url-path; put it into a file of its own");
  }
}

/** A cache without `table` is named after its endpoint. */
function fallbackName(rest: RestConfig | undefined, input: EndpointInput): string {
  const mcp = input["mcp-tool"] ?? input["mcp-resource"] ?? input["mcp-prompt"];
  const name = rest === undefined ? (mcp?.name ?? "") : `${rest.method} ${rest.urlPath}`;
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_");
}

interface Templates {
  readonly own: SourceFile | undefined;
  /** The template of the cache refresh. */
  readonly refresh: SourceFile | undefined;
  readonly isUnread: boolean;
}

function templatesOf(source: EndpointSource, context: EndpointContext, reporter: Reporter): Templates {
  const { error, warning, securityWarning } = reporter;
  const { input, path } = source;
  let isUnread = false;
  const find = (name: string, key: KeyPath): SourceFile | undefined => {
    const danger = insecureAddressWarning(name);
    if (danger !== undefined) securityWarning(key, danger);
    const found = context.findTemplate(name, path);
    if (found === UNREAD) {
      isUnread = true;
      warning(key, "the template is remote and was not read; the endpoint was not checked");
      return undefined;
    }
    if (typeof found !== "string") return found;
    error(key, found);
    return undefined;
  };
  const name = input["template-source"];
  const refreshName = input.cache?.enabled === true ? input.cache["template-file"] : undefined;
  if (name === undefined) requireKey(source, "template-source", "write the name of the SQL template", error);
  const refresh = refreshName === undefined ? undefined : find(refreshName, ["cache", "template-file"]);
  const own = name === undefined ? undefined : find(name, ["template-source"]);
  return { own, refresh, isUnread };
}

function connectionsOf(
  source: EndpointSource,
  { connections, connectionsAreValid }: EndpointContext,
  { error, entryPath }: Reporter,
): readonly ConnectionConfig[] {
  const { connection: names = [] } = source.input;
  const known = [...connections.keys()];
  if (names.length === 0) {
    const hint = `write the name of a connection (${known.join(", ") || "none is defined"})`;
    requireKey(source, "connection", hint, error);
  }
  const found = names.flatMap((name, index) => {
    const connection = connections.get(name);
    if (connection === undefined && connectionsAreValid) {
      error(entryPath(["connection"], index), unknownMessage("connection", name, known));
    }
    return connection ?? [];
  });
  const message = mixedEnginesMessage(found);
  if (message !== undefined) error(["connection"], message);
  return found;
}

/** One engine runs the SQL of an endpoint, and each connection with `engine` has an engine of its own. */
function mixedEnginesMessage(connections: readonly ConnectionConfig[]): string | undefined {
  const remote = connections.find(({ engine }) => engine !== undefined);
  const other = connections.find((connection) => connection !== remote);
  if (remote === undefined || other === undefined) return undefined;
  const place = ({ name, engine = "duckdb" }: ConnectionConfig): string => `'${name}' (engine ${engine})`;
  return `${place(other)} and ${place(remote)} cannot be used together, because one engine runs the SQL of an endpoint; attach the sources to DuckDB with 'type' instead of 'engine', or cache one of them`;
}

/** Endpoints that run SQL need a template and a connection. Prompts need neither. */
function requireKey({ positions, broken }: EndpointSource, key: string, hint: string, complain: Complain): void {
  const kind = ["url-path", "mcp-tool", "mcp-resource"].find((name) => positions.children?.has(name));
  if (kind === undefined || broken.has(key)) return;
  complain([key], `missing; ${hint}`);
}

/** `returns: one` requires rows, and excludes pagination. */
function checkReturns(
  { input, positions, broken }: EndpointSource,
  operation: OperationConfig,
  reporter: Reporter,
): void {
  if (input.returns === "many") return;
  const { error, isWritten } = reporter;
  const hasPages = input["with-pagination"] && isWritten(["with-pagination"]) && !broken.has("with-pagination");
  if (hasPages) error(["with-pagination"], "one object has no pages; remove it, or set returns: many");
  if (positions.children?.has("mcp-prompt") === true) error(["returns"], "a prompt returns no rows; remove it");
  else if (operation.kind === "write" && !operation.returnsData && !broken.has("operation")) {
    error(["returns"], "this write returns no rows; set operation.returns-data: true, or remove it");
  }
}

interface OperationContext {
  readonly method: Method;
  readonly httpStatus: HttpStatusInput;
  readonly reporter: Reporter;
}

function operationOf(
  { operation }: EndpointInput,
  { method, httpStatus, reporter }: OperationContext,
): OperationConfig {
  const kind = operation.type ?? (method === "GET" ? "read" : "write");
  if (kind === "read" && operation.allow.length > 0) {
    const fix = "set operation.type: Write, or remove it";
    reporter.error(["operation", "allow"], `only a write can run restricted statements; ${fix}`);
  }
  return {
    kind,
    returnsData: operation["returns-data"],
    transaction: operation.transaction,
    validateBeforeWrite: operation["validate-before-write"],
    allow: operation.allow,
    statuses: compileStatuses(operation["http-status"], httpStatus, { kind, method, reporter }),
  };
}
