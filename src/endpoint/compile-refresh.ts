import type { CacheDefinition, RefreshStatements, RefreshVariables } from "../cache/cache.ts";
import type { RefreshConfig } from "../config/cache-config.ts";
import type { Locate, Problem } from "../config/problem.ts";
import type { EndpointConfig, Project } from "../config/project.ts";
import type { ParamValue } from "../params/parameter.ts";
import { effectsOf } from "../sql/classify.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import type { Dialect } from "../sql/dialect.ts";
import { render } from "../sql/render.ts";
import type { TemplateScope } from "../sql/scope.ts";
import { configurationScope, templateProblems } from "./compile-endpoint.ts";
import type { Endpoint } from "./endpoint.ts";

/** The compiled refresh template of a cache. */
export interface CompiledRefresh {
  readonly definition: CacheDefinition;
  /** The catalog of the cache table. */
  readonly catalog: string;
  /** What the first refresh runs. */
  readonly first: RefreshStatements;
  readonly locate: Locate;
  /** Of its template. */
  readonly dialect: Dialect;
  /** The refresh as an endpoint, to verify its template. */
  readonly endpoint: Endpoint;
  readonly problems: readonly Problem[];
}

/** Compiles the refresh template of an endpoint. Undefined if it has none. */
export function compileRefresh(
  config: EndpointConfig,
  endpoint: Endpoint,
  { project, dialect }: { readonly project: Project; readonly dialect: Dialect },
): CompiledRefresh | undefined {
  const { cache } = config;
  if (cache?.kind !== "table" || cache.refresh === undefined) return undefined;
  const { refresh, name } = cache;
  const connections = config.connections.map((connection) => connection.name);
  const source = refresh.template;
  const scope = scopeOf(config, refresh, project);
  const { template, problems } = compileTemplate(source.text, scope, dialect);

  function renderAt(variables: RefreshVariables): RefreshStatements {
    const values = valuesOf(variables);
    const statements = render(template, ({ name: variable }) => values.get(variable), { dialect });
    const effects = effectsOf(
      statements.map(({ sql }) => sql),
      dialect,
    );
    return { kind: effects.some(({ kind }) => kind === "changes") ? "own" : "select", statements };
  }

  const first: RefreshVariables = {
    snapshotId: 1,
    snapshotTimestamp: "",
    previousSnapshotId: undefined,
    previousSnapshotTimestamp: undefined,
  };
  const firstStatements = renderAt(first);
  return {
    problems: templateProblems(source, problems),
    catalog: project.main.cache?.catalog ?? "",
    first: firstStatements,
    locate: config.locate,
    dialect,
    definition: {
      name,
      mode: refresh.mode,
      retention: refresh.retention,
      connections,
      scheduleMs: refresh.scheduleMs,
      render: renderAt,
    },
    endpoint: {
      ...endpoint,
      connections,
      parameters: [],
      operation:
        firstStatements.kind === "own"
          ? {
              kind: "write",
              returnsData: false,
              returns: "many",
              transaction: true,
              validateBeforeWrite: true,
              allow: [],
              statuses: config.operation.statuses,
            }
          : { kind: "read", paginated: false, returns: "many" },
      template,
      source,
      scope,
      cache: undefined,
      location: config.locate(["cache", "template-file"]),
    },
  };
}

function scopeOf(config: EndpointConfig, refresh: RefreshConfig, project: Project): TemplateScope {
  const { mode, schedule, cursorType } = refresh;
  const known: [string, string | undefined][] = [
    ["catalog", project.main.cache?.catalog],
    ["schema", config.cache?.name.schema],
    ["table", config.cache?.name.table],
    ["mode", mode.kind],
    ["schedule", schedule],
    ["cursorColumn", mode.kind === "full" ? undefined : mode.cursor],
    ["cursorType", cursorType],
    ["primaryKeys", mode.kind === "merge" ? mode.primaryKey.join(",") : undefined],
  ];
  return {
    ...configurationScope(config, project),
    params: new Map(),
    isRefresh: true,
    cache: new Map(known.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))),
    snapshotVariables: new Map([
      ["snapshotId", "scalar"],
      ["snapshotTimestamp", "text"],
      ["previousSnapshotId", "scalar"],
      ["previousSnapshotTimestamp", "text"],
    ]),
  };
}

/** The variables that are set, as template values. */
function valuesOf(variables: RefreshVariables): ReadonlyMap<string, ParamValue> {
  const values = new Map<string, ParamValue>();
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value === "number") values.set(name, { text: String(value), type: "BIGINT", value: BigInt(value) });
    if (typeof value === "string") values.set(name, { text: value, type: "VARCHAR", value });
  }
  return values;
}
