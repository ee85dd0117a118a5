import { cacheKey } from "../cache/cache.ts";
import type { Problem } from "../config/problem.ts";
import type { EndpointConfig, Project } from "../config/project.ts";
import { referencedCaches, sortRefreshes, withoutCache } from "../endpoint/cache-references.ts";
import { compileEndpoint } from "../endpoint/compile-endpoint.ts";
import { type CompiledRefresh, compileRefresh } from "../endpoint/compile-refresh.ts";
import { dialectOf } from "../engines/index.ts";
import type { Sliced } from "../slices.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { CompiledEndpoint, CompiledTemplates, PassedCheck } from "./verify-endpoints.ts";

/** A project whose templates are compiled, but not verified. */
export interface CompiledProject extends CompiledTemplates {
  readonly problems: readonly Problem[];
  /** The endpoints as compiled from their own files alone. */
  readonly ownResults: OwnResults;
}

type OwnResults = ReadonlyMap<EndpointConfig, ReturnType<typeof compileEndpoint>>;

/**
 * What a service has found out about each of its endpoints, for the next reload. A load keeps the object of a configuration
 * whose files and main file are unchanged, so the object itself is the key.
 */
export interface KnownEndpoints {
  readonly compiled: OwnResults;
  readonly checks: ReadonlyMap<EndpointConfig, PassedCheck>;
}

export const NO_KNOWN_ENDPOINTS: KnownEndpoints = { compiled: new Map(), checks: new Map() };

/** Compiles every endpoint that is not known yet. What concerns several endpoints is computed again. */
export function* compileProject(project: Project, known: KnownEndpoints): Sliced<CompiledProject> {
  const ownResults = new Map<EndpointConfig, ReturnType<typeof compileEndpoint>>();
  for (const config of project.endpoints) {
    ownResults.set(config, known.compiled.get(config) ?? compileEndpoint(config, project, templateDialect(config)));
    yield;
  }
  const refreshes = compileRefreshes(project, ownResults);
  yield;
  const tables = {
    catalog: project.main.cache?.catalog ?? "",
    names: refreshes.map(({ definition }) => definition.name),
  };
  const endpoints: CompiledEndpoint[] = [];
  for (const [config, { endpoint, problems }] of ownResults) {
    const own = endpoint.cache?.kind === "table" ? endpoint.cache.name : undefined;
    const namedCaches = withoutCache(referencedCaches(endpoint, tables, templateDialect(config)), own);
    endpoints.push({ endpoint: { ...endpoint, namedCaches }, problems, lastCheck: known.checks.get(config) });
    yield;
  }
  const ordered = sortRefreshes(
    refreshes.map(({ endpoint, definition, ...refresh }) => {
      const namedCaches = referencedCaches(endpoint, tables, refresh.dialect);
      const reads = withoutCache(namedCaches, definition.name);
      return { ...refresh, definition: { ...definition, reads }, endpoint: { ...endpoint, namedCaches } };
    }),
  );
  const problems = [...endpoints, ...ordered.refreshes].flatMap((each) => each.problems);
  return { endpoints, refreshes: ordered.refreshes, problems: [...problems, ...ordered.problems], ownResults };
}

/** DuckDB runs the template over a cache table, and the engine of the connection all others. */
function templateDialect({ cache, connections }: EndpointConfig): Dialect {
  return dialectOf(cache?.kind === "table" ? undefined : connections[0]?.engine);
}

/** One refresh per cache. */
function compileRefreshes(project: Project, compiled: OwnResults): readonly CompiledRefresh[] {
  const seen = new Set<string>();
  return [...compiled].flatMap(([config, { endpoint }]) => {
    const { cache } = config;
    if (cache?.kind !== "table" || seen.has(cacheKey(cache.name))) return [];
    const refresh = compileRefresh(config, endpoint, { project, dialect: dialectOf(config.connections[0]?.engine) });
    if (refresh !== undefined) seen.add(cacheKey(cache.name));
    return refresh ?? [];
  });
}
