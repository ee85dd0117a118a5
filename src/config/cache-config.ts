import { resolve } from "node:path";
import type { CacheMode, CacheName, Retention } from "../cache/cache.ts";
import type { Complain } from "./problem.ts";
import { reporterOf } from "./reporter.ts";
import { ducklake, type EndpointCacheInput } from "./schema/cache.ts";
import type { MainInput } from "./schema/main.ts";
import type { NodePositions, Report, SourceFile } from "./tree.ts";

/** The cache block of an endpoint. */
export type CacheConfig =
  /** The template reads a table that a refresh fills. `refresh` is undefined if another endpoint defines it. */
  | {
      readonly kind: "table";
      readonly name: CacheName;
      readonly refresh: RefreshConfig | undefined;
      /** Whether the template reads the cache table. If false, it reads its data source. */
      readonly isReadByTemplate: boolean;
      readonly allowsClientRefresh: boolean;
    }
  /** The rows are cached, per set of parameter values. */
  | {
      readonly kind: "results";
      readonly name: CacheName;
      readonly scheduleMs: number | undefined;
      readonly allowsClientRefresh: boolean;
    }
  /** The endpoint writes, which invalidates or refreshes a cache. */
  | { readonly kind: "on-write"; readonly name: CacheName; readonly action: "invalidate" | "refresh" };

export interface RefreshConfig {
  readonly template: SourceFile;
  readonly mode: CacheMode;
  readonly cursorType: string | undefined;
  readonly retention: Retention;
  readonly scheduleMs: number | undefined;
  /** As written, for `{{cache.schedule}}`. */
  readonly schedule: string | undefined;
}

/** The storage of all caches. */
export interface CacheStorage {
  /** The name of the catalog in templates. */
  readonly catalog: string;
  readonly backend:
    | { readonly kind: "duckdb"; readonly path: string | undefined }
    | {
        readonly kind: "ducklake";
        readonly metadataPath: string;
        readonly dataPath: string | undefined;
        /** False for flAPI's `ducklake` block: if the extension is missing, the DuckDB backend is used instead. */
        readonly isRequired: boolean;
      };
  readonly warmUp: boolean;
  readonly isScheduled: boolean;
  readonly maxBytes: number;
  readonly maxConcurrentRefreshes: number;
  /** For caches without their own `retention`. */
  readonly retention: Retention;
}

const KEEP_CURRENT_ONLY: Retention = { keepLast: 1, maxAgeMs: undefined };
const PLAIN_NAME = /^[A-Za-z_]\w*$/;

export function compileCacheStorage(
  {
    input,
    positions,
    folder,
  }: { readonly input: MainInput; readonly positions: NodePositions; readonly folder: string },
  report: Report,
): CacheStorage | undefined {
  const { cache } = input;
  if (!cache.enabled) return undefined;
  const { keyError: complain } = reporterOf(positions, report);
  const lake = input.ducklake.enabled ? input.ducklake : ducklake.parse({});
  const catalog = lake.alias;
  if (!PLAIN_NAME.test(catalog))
    complain(["ducklake", "alias"], "expected a plain name: letters, digits and underscores");
  const backend = (): CacheStorage["backend"] => {
    if (cache.backend === "ducklake") {
      const metadata = cache["metadata-path"];
      if (metadata === undefined)
        complain(["cache", "metadata-path"], "missing; backend ducklake keeps its catalog there");
      if (/^postgres/i.test(metadata ?? "") && cache["data-path"] === undefined) {
        complain(["cache", "data-path"], "missing; a catalog in Postgres does not say where rows go");
      }
      return lakeOf(metadata ?? "", cache["data-path"], { folder, isRequired: true });
    }
    for (const key of ["metadata-path", "data-path"] as const) {
      if (cache[key] !== undefined) complain(["cache", key], "only backend ducklake has it; write 'backend: ducklake'");
    }
    const metadata = lake["metadata-path"];
    if (metadata !== undefined && cache.backend === undefined && cache.path === undefined) {
      return lakeOf(metadata, lake["data-path"], { folder, isRequired: false });
    }
    return { kind: "duckdb", path: cache.path === undefined ? undefined : resolve(folder, cache.path) };
  };
  return {
    catalog,
    backend: backend(),
    warmUp: cache["warm-up"],
    isScheduled: lake.scheduler.enabled,
    maxBytes: cache["max-bytes"],
    maxConcurrentRefreshes: cache["max-concurrent-refreshes"],
    retention: retentionOf(lake.retention, KEEP_CURRENT_ONLY),
  };
}

function lakeOf(
  metadata: string,
  data: string | undefined,
  { folder, isRequired }: { readonly folder: string; readonly isRequired: boolean },
): CacheStorage["backend"] {
  // Other schemes, such as `postgres:` and `s3:`, are not local paths.
  const resolveLocal = (path: string): string => {
    const [, scheme, file] = /^(sqlite|duckdb):(.+)$/i.exec(path) ?? [];
    if (scheme !== undefined && file !== undefined) return `${scheme}:${resolve(folder, file)}`;
    return /^[a-z][a-z0-9+]+:/i.test(path) ? path : resolve(folder, path);
  };
  return {
    kind: "ducklake",
    metadataPath: resolveLocal(metadata),
    dataPath: data === undefined ? undefined : resolveLocal(data),
    isRequired,
  };
}

function retentionOf(input: EndpointCacheInput["retention"], inherited: Retention): Retention {
  if (input === undefined) return inherited;
  return {
    keepLast: input["keep-last-snapshots"] ?? (input["max-snapshot-age"] === undefined ? 1 : Number.MAX_SAFE_INTEGER),
    maxAgeMs: input["max-snapshot-age"],
  };
}

export interface EndpointCacheContext {
  readonly storage: CacheStorage | undefined;
  readonly operation: "read" | "write";
  /** Undefined if none is configured, or its file is missing. */
  readonly refreshTemplate: SourceFile | undefined;
  /** The text of the endpoint's own template. */
  readonly template: string | undefined;
  /** The name of the cache if `table` is not set. */
  readonly fallbackName: string;
  readonly complain: Complain;
  readonly warn: Complain;
}

/** Compiles the cache block of one endpoint. Undefined if it is disabled or has no effect. */
export function compileEndpointCache(
  input: EndpointCacheInput | undefined,
  context: EndpointCacheContext,
): CacheConfig | undefined {
  const { storage, operation, complain, warn } = context;
  if (input?.enabled !== true || storage === undefined) return undefined;
  const name: CacheName = { schema: input.schema, table: input.table ?? context.fallbackName };
  if (name.schema.toLowerCase() === "audit") complain(["cache", "schema"], "'audit' is reserved; choose another");
  if (operation === "write") {
    const { "invalidate-on-write": invalidate, "refresh-on-write": refresh } = input;
    if (!invalidate && !refresh) {
      warn(
        ["cache"],
        "a write endpoint has no rows to cache; write 'invalidate-on-write: true' or 'refresh-on-write: true'",
      );
      return undefined;
    }
    if (input.table === undefined) {
      warn(
        ["cache"],
        "no table is named, so no cache is invalidated or refreshed; name the table of the cache that the write changes",
      );
      return undefined;
    }
    return { kind: "on-write", name, action: refresh ? "refresh" : "invalidate" };
  }
  for (const key of ["invalidate-on-write", "refresh-on-write"] as const) {
    if (input[key]) warn(["cache", key], "only valid on a write endpoint; move it there");
  }
  const allowsClientRefresh = input["allow-client-refresh"];
  const hasNoTemplateFile = input["template-file"] === undefined;
  const isReadByTemplate = readsTable(context.template ?? "", storage.catalog, name);
  if (hasNoTemplateFile && !isReadByTemplate) {
    for (const key of ["cursor", "primary-key"] as const) {
      if (input[key] !== undefined) warn(["cache", key], "only a refresh with a template-file uses it");
    }
    return { kind: "results", name, scheduleMs: input.schedule?.ms, allowsClientRefresh };
  }
  for (const key of hasNoTemplateFile ? REFRESH_KEYS : []) {
    if (input[key] !== undefined)
      warn(["cache", key], "only the endpoint with the template-file sets it; move it there");
  }
  if (input.table === undefined) complain(["cache", "table"], "missing; name the table that the template-file fills");
  const { refreshTemplate } = context;
  // A missing template is already reported.
  if (input["template-file"] !== undefined && refreshTemplate === undefined) return undefined;
  if (!isReadByTemplate && context.template !== undefined) {
    warn(
      ["cache"],
      "the template does not read the cache table; write {{cache.catalog}}.{{cache.schema}}.{{cache.table}} there",
    );
  }
  const refresh = refreshTemplate && {
    template: refreshTemplate,
    mode: modeOf(input, warn),
    cursorType: input.cursor?.type?.text,
    retention: retentionOf(input.retention, storage.retention),
    scheduleMs: storage.isScheduled ? input.schedule?.ms : undefined,
    schedule: input.schedule?.text,
  };
  return { kind: "table", name, refresh, isReadByTemplate, allowsClientRefresh };
}

const REFRESH_KEYS = ["schedule", "cursor", "primary-key", "retention"] as const;

/** Matches a template that reads the table of its own `cache` block. */
const READS_OWN = /\{\{[{&#^]?\s*cache\.(?:table|schema|catalog)\b/;

/** Whether a template reads a cache table, through the `cache` variables or its three-part name. */
function readsTable(template: string, catalog: string, { schema, table }: CacheName): boolean {
  const parts = [catalog, schema, table].map((part) => `"?${part.replace(/[^\w]/g, "\\$&")}"?`);
  return (
    READS_OWN.test(template) || new RegExp(`(?<![\\w"])${parts.join("\\s*\\.\\s*")}(?![\\w"])`, "i").test(template)
  );
}

function modeOf(input: EndpointCacheInput, warn: Complain): CacheMode {
  const { cursor, "primary-key": primaryKey = [] } = input;
  if (cursor === undefined) {
    if (primaryKey.length > 0) warn(["cache", "primary-key"], "rows are merged by it only where there is a cursor");
    return { kind: "full" };
  }
  const common = { cursor: cursor.column, cursorType: cursor.type?.type };
  return primaryKey.length === 0 ? { kind: "append", ...common } : { kind: "merge", ...common, primaryKey };
}
