import type { Problem } from "../config/problem.ts";
import type { EndpointConfig, Project } from "../config/project.ts";
import { locationOf, type SourceFile } from "../config/tree.ts";
import { isPageField } from "../params/page.ts";
import type { Parameter } from "../params/parameter.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { TemplateScope } from "../sql/scope.ts";
import type { Piece, TemplateProblem, ValueClass, ValueType } from "../sql/template.ts";
import type { Endpoint, Operation, Route } from "./endpoint.ts";

/** Compiles an endpoint from its configuration. `problems` are those of its template. */
export function compileEndpoint(
  config: EndpointConfig,
  project: Project,
  dialect: Dialect,
): { readonly endpoint: Endpoint; readonly problems: readonly Problem[] } {
  const { template: source } = config;
  const scope = scopeOf(config, project);
  const compiled = source === undefined ? undefined : compileTemplate(source.text, scope, dialect);
  const problems = source === undefined ? [] : templateProblems(source, compiled?.problems ?? []);
  const reads = compiled?.template.reads;
  return {
    problems,
    endpoint: {
      name: nameOf(config),
      file: config.file,
      queueGroup: { name: nameOf(config), maxConcurrency: config.maxConcurrency },
      route: routeOf(config),
      mcp: config.mcp,
      auth: config.auth,
      rateLimit: config.rateLimit,
      parameters: config.parameters,
      rejectsUnknownParams: config.rejectsUnknownParams,
      operation: operationOf(config),
      connections: connectionsOf(config),
      template: compiled?.template,
      source,
      scope,
      ownPaging: {
        limit: reads?.has("params.limit") === true,
        offset: reads?.has("params.offset") === true,
        isInverted: compiled !== undefined && hasInvertedPageSection(compiled.template.pieces),
      },
      cache: config.cache,
      namedCaches: [],
      location: config.locate(["template-source"]),
    },
  };
}

/**
 * Whether a section renders only without `limit` or `offset`, such as `{{^params.limit}}LIMIT 100{{/params.limit}}`. The total is
 * counted without both, so such a section could limit it.
 */
function hasInvertedPageSection(pieces: readonly Piece[]): boolean {
  return pieces.some(
    (piece) =>
      piece.kind === "section" &&
      ((piece.inverted && piece.ref.scope === "params" && isPageField(piece.ref.name)) ||
        hasInvertedPageSection(piece.pieces)),
  );
}

/** Problems of a template, with their location in the file. */
export function templateProblems(source: SourceFile, problems: readonly TemplateProblem[]): readonly Problem[] {
  return problems.map(({ severity, offset, message, security }) => ({
    severity,
    location: locationOf({ source, offset }),
    path: "",
    message,
    ...(security && { security }),
  }));
}

function nameOf({ rest, mcp, file }: EndpointConfig): string {
  if (rest !== undefined) return `${rest.method} ${rest.urlPath}`;
  return mcp === undefined ? file : `mcp-${mcp.kind} ${mcp.name}`;
}

/** DuckDB runs the template over a cache table. Only the refresh runs on another machine. */
function connectionsOf({ connections, cache }: EndpointConfig): readonly string[] {
  const own = cache?.kind === "table" ? connections.filter(({ engine }) => engine === undefined) : connections;
  return own.map(({ name }) => name);
}

function operationOf({ operation, paginated, returns }: EndpointConfig): Operation {
  const { kind, returnsData, transaction, validateBeforeWrite, allow, statuses } = operation;
  return kind === "read"
    ? { kind, paginated, returns }
    : { kind, returnsData, returns, transaction, validateBeforeWrite, allow, statuses };
}

function routeOf({ rest }: EndpointConfig): Route | undefined {
  if (rest === undefined) return undefined;
  const segments = rest.urlPath
    .split("/")
    .filter((segment) => segment !== "")
    .map((segment): Route["segments"][number] =>
      segment.startsWith(":") ? { kind: "param", name: segment.slice(1) } : { kind: "text", text: segment },
    );
  return { method: rest.method, path: rest.urlPath, segments };
}

function scopeOf(config: EndpointConfig, project: Project): TemplateScope {
  const params = new Map<string, ValueClass>();
  const types = new Map<string, ValueType>();
  for (const parameter of config.parameters) {
    params.set(parameter.name, valueClassOf(parameter));
    types.set(parameter.name, typeOf(parameter));
  }
  // Templates may use these even if the endpoint does not declare them.
  for (const name of ["limit", "offset"]) {
    params.set(name, "scalar");
    types.set(name, "BIGINT");
  }
  const { cache } = config;
  const isTable = cache?.kind === "table";
  return {
    ...configurationScope(config, project),
    params,
    types,
    cache: isTable
      ? new Map([
          ["catalog", project.main.cache?.catalog ?? ""],
          ["schema", cache.name.schema],
        ])
      : new Map(),
    // These differ from call to call, because each call reads the snapshot that is current then.
    snapshotVariables: isTable
      ? new Map([
          ["table", "enum"],
          ["snapshotId", "scalar"],
          ["snapshotTimestamp", "text"],
        ])
      : new Map(),
  };
}

/** The variables whose values come from the configuration and the environment. */
export function configurationScope(
  { connections }: Pick<EndpointConfig, "connections">,
  project: Project,
): Pick<TemplateScope, "conn" | "connectionName" | "environment"> {
  const [first] = connections;
  return {
    conn: first?.properties ?? new Map(),
    connectionName: first?.name,
    environment: (name) => {
      if (!project.environmentAllows(name)) return "unlisted";
      const value = project.environment.get(name);
      return value === undefined ? "unset" : { value };
    },
  };
}

/** The text for `databaseType`, which depends on the text only for a `number`: DECIMAL for a short one like this. */
const SHORT_NUMBER = "0";

function typeOf(parameter: Parameter): ValueType {
  const [first] = parameter.validators;
  if (first === undefined || valueClassOf(parameter) === "enum") return "VARCHAR";
  return first.type === "uuid" ? "UUID" : first.databaseType(SHORT_NUMBER);
}

/** How a parameter may become part of the SQL text: by the list of its enum, otherwise by the type of its first validator. */
function valueClassOf({ validators }: Parameter): ValueClass {
  if (validators.some(({ allowedValues }) => allowedValues !== undefined)) return "enum";
  const [first] = validators;
  if (first === undefined) return "text";
  const type = first.databaseType(SHORT_NUMBER);
  if (type === "BIGINT" || type === "BOOLEAN") return "scalar";
  return type === "VARCHAR" ? "text" : "typed";
}
