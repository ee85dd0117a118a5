import { type CacheName, cacheKey } from "../cache/cache.ts";
import type { CacheConfig, RefreshConfig } from "./cache-config.ts";
import type { EndpointConfig } from "./project.ts";
import { errorAt, type Report } from "./tree.ts";

/**
 * Several endpoints may share a cache table. The endpoint with a `template-file` defines the refresh, which is copied to the
 * others. `broken` holds the tables of cache blocks with problems (undefined if a name is unknown): if no valid block fills a
 * table, one of these may, so nothing is reported.
 */
export function shareCaches(
  endpoints: readonly EndpointConfig[],
  broken: readonly (string | undefined)[],
  report: Report,
): readonly EndpointConfig[] {
  const owners = new Map<string, { readonly file: string; readonly refresh: RefreshConfig }>();
  const resultCaches = new Set<string>();
  const mayBeBroken = ({ table }: CacheName): boolean => broken.includes(table) || broken.includes(undefined);
  for (const { cache, file, locate } of endpoints) {
    if (cache === undefined || cache.kind === "on-write") continue;
    const key = cacheKey(cache.name);
    if (cache.kind === "results") {
      resultCaches.add(key);
      continue;
    }
    if (cache.refresh === undefined) continue;
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, { file, refresh: cache.refresh });
    else if (JSON.stringify(owner.refresh) !== JSON.stringify(cache.refresh)) {
      const message = `${owner.file} fills the same table in another way; choose another table, or remove template-file here`;
      report(errorAt(locate(["cache"]), ["cache"], message));
    }
  }
  return endpoints.map((endpoint): EndpointConfig => {
    const { cache, locate } = endpoint;
    if (cache === undefined) return endpoint;
    const key = cacheKey(cache.name);
    const refresh = owners.get(key)?.refresh;
    switch (cache.kind) {
      case "table": {
        if (refresh === undefined && !mayBeBroken(cache.name)) {
          const message =
            "no endpoint fills this table; set a template-file here, or in another endpoint with the same schema and table";
          report(errorAt(locate(["cache"]), ["cache"], message));
        }
        // An endpoint that defines the refresh stays the same object, so that a reload need not compile it again.
        if (cache.refresh !== undefined) return endpoint;
        const shared: CacheConfig = { ...cache, refresh };
        return { ...endpoint, cache: shared };
      }
      case "results":
        if (refresh !== undefined) {
          const message = `${owners.get(key)?.file} fills this table, but this template does not read it; read {{cache.catalog}}.{{cache.schema}}.{{cache.table}} in the template, or choose another table`;
          report(errorAt(locate(["cache"]), ["cache"], message));
        }
        return endpoint;
      case "on-write":
        if (refresh === undefined && !resultCaches.has(key) && !mayBeBroken(cache.name)) {
          const { schema, table } = cache.name;
          const known = [...owners.keys(), ...resultCaches].map((each) => JSON.parse(each).join("."));
          const message = `no endpoint has a cache named ${schema}.${table}; existing caches: ${known.join(", ") || "none"}`;
          report(errorAt(locate(["cache", "table"]), ["cache", "table"], message));
        }
        return endpoint;
    }
  });
}
