import { type CacheName, cacheKey } from "../cache/cache.ts";
import type { Problem } from "../config/problem.ts";
import { errorAt } from "../config/tree.ts";
import type { Dialect } from "../sql/dialect.ts";
import { render } from "../sql/render.ts";
import { tokensOf } from "../sql/statement-words.ts";
import type { CompiledRefresh } from "./compile-refresh.ts";
import type { Endpoint } from "./endpoint.ts";
import { sampleLookup, samplesOf } from "./samples.ts";

/** The cache tables of a project. */
export interface CacheTables {
  readonly catalog: string;
  readonly names: readonly CacheName[];
}

/** The cache tables that the SQL of an endpoint names in full, such as `cache.analytics.sales`. */
export function referencedCaches(
  endpoint: Endpoint,
  { catalog, names }: CacheTables,
  dialect: Dialect,
): readonly CacheName[] {
  const { template, source } = endpoint;
  if (template === undefined || source === undefined || names.length === 0) return [];
  // Few templates name a cache, and tokenizing is slow.
  const text = source.text.toLowerCase();
  if (!text.includes(catalog.toLowerCase()) && !text.includes("cache.")) return [];
  const found = new Set<string>();
  for (const sample of samplesOf(endpoint, template)) {
    for (const { sql } of render(template, sampleLookup(sample), { dialect })) {
      for (const path of threePartNames(sql, dialect)) found.add(path);
    }
  }
  return names.filter(({ schema, table }) => found.has(pathOf([catalog, schema, table])));
}

function threePartNames(sql: string, dialect: Dialect): readonly string[] {
  const tokens = tokensOf(sql, dialect);
  return tokens.flatMap((_, index) => {
    const [first, dot, second, otherDot, third] = tokens.slice(index, index + 5).map(({ text }) => text);
    if (dot !== "." || otherDot !== "." || tokens[index - 1]?.text === ".") return [];
    return pathOf([first ?? "", second ?? "", third ?? ""]);
  });
}

function pathOf(parts: readonly string[]): string {
  return JSON.stringify(parts.map((part) => part.toUpperCase()));
}

/** All cache tables that an endpoint reads: its own, and those that its SQL names. */
export function cachesReadBy({ cache, namedCaches }: Pick<Endpoint, "cache" | "namedCaches">): readonly CacheName[] {
  return cache?.kind === "table" && cache.isReadByTemplate ? [cache.name, ...namedCaches] : namedCaches;
}

/** The names except this one. */
export function withoutCache(names: readonly CacheName[], name: CacheName | undefined): readonly CacheName[] {
  return name === undefined ? names : names.filter((each) => cacheKey(each) !== cacheKey(name));
}

/** Sorts the refreshes, each after those whose tables it reads. Refreshes that read each other's tables are problems. */
export function sortRefreshes(refreshes: readonly CompiledRefresh[]): {
  readonly refreshes: readonly CompiledRefresh[];
  readonly problems: readonly Problem[];
} {
  const unsorted = new Map(refreshes.map((refresh) => [cacheKey(refresh.definition.name), refresh]));
  const sorted: CompiledRefresh[] = [];
  const unsortedReadsOf = ({ endpoint, definition }: CompiledRefresh): readonly CacheName[] =>
    withoutCache(endpoint.namedCaches, definition.name).filter((name) => unsorted.has(cacheKey(name)));
  for (let before = -1; before !== sorted.length; ) {
    before = sorted.length;
    for (const [key, refresh] of unsorted) {
      if (unsortedReadsOf(refresh).length > 0) continue;
      unsorted.delete(key);
      sorted.push(refresh);
    }
  }
  const problems = [...unsorted.values()].map((refresh) => {
    const others = unsortedReadsOf(refresh).map(({ schema, table }) => `${schema}.${table}`);
    const message = `this refresh reads ${others.join(", ")}, whose refresh reads this table in turn; remove one of these reads`;
    return errorAt(refresh.locate(["cache", "template-file"]), ["cache", "template-file"], message);
  });
  return { refreshes: sorted, problems };
}
