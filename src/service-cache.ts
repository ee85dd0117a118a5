import { type CacheDefinition, cacheKey } from "./cache/cache.ts";
import { makeRoom, setAside } from "./cache/cache-file.ts";
import type { Caches } from "./cache/caches.ts";
import { ForeignCacheError, openSnapshotStore } from "./cache/duckdb-store.ts";
import { noCaches } from "./cache/no-caches.ts";
import { openCaches } from "./cache/open-caches.ts";
import type { SnapshotStore } from "./cache/snapshot-store.ts";
import type { CacheStorage } from "./config/cache-config.ts";
import type { Problem } from "./config/problem.ts";
import type { MainConfig, Project } from "./config/project.ts";
import { type Engine, EngineOpenError } from "./engines/engine.ts";
import type { Report } from "./events.ts";

export interface CacheParts {
  readonly engine: Engine;
  readonly definitions: readonly CacheDefinition[];
  readonly report: Report;
  /** Only to see whether everything fits: what is kept elsewhere is left alone. */
  readonly isTrial: boolean;
}

/** What became of opening the caches of a project. */
export interface OpenedCaches {
  readonly caches: Caches;
  readonly problems: readonly Problem[];
}

/** Opens the cache database where an endpoint needs one. Rejects with an Error that says what is in the way. */
export async function openProjectCaches(project: Project, parts: CacheParts): Promise<OpenedCaches> {
  const { main, endpoints } = project;
  const storage = parts.isTrial ? main.cache && inMemory(main.cache) : main.cache;
  if (storage === undefined || endpoints.every(({ cache }) => cache === undefined))
    return { caches: noCaches, problems: [] };
  const problems: Problem[] = [];
  const store = await openStore(storage, { main, engine: parts.engine, problems });
  const byKey = new Map(parts.definitions.map((definition) => [cacheKey(definition.name), definition]));
  const caches = await openCaches({
    store,
    definitions: [...byKey.values()],
    now: Date.now,
    report: parts.report,
    maxConcurrentRefreshes: storage.maxConcurrentRefreshes,
    maxBytes: storage.maxBytes,
    warmUp: storage.warmUp,
  });
  return { caches, problems };
}

function inMemory(storage: CacheStorage): CacheStorage {
  return { ...storage, backend: { kind: "duckdb", path: undefined }, warmUp: false };
}

interface Opening {
  readonly main: MainConfig;
  readonly engine: Engine;
  readonly problems: Problem[];
}

async function openStore(storage: CacheStorage, opening: Opening): Promise<SnapshotStore> {
  const { backend, catalog } = storage;
  const { engine } = opening;
  const options = { now: Date.now, randomId: () => crypto.randomUUID(), catalog };
  if (backend.kind === "ducklake") throw new Error("the ducklake backend is not there yet");
  const { path } = backend;
  if (path !== undefined) makeRoom(path);
  const attach = `ATTACH ${quoted(path ?? ":memory:")} AS ${catalog}`;
  try {
    await engine.attach(catalog, attach);
    return await openSnapshotStore(engine, options);
  } catch (error) {
    if (
      path === undefined ||
      isInUse(error) ||
      !(error instanceof EngineOpenError || error instanceof ForeignCacheError)
    ) {
      throw new Error(`the cache file cannot be opened: ${messageOf(error)}`);
    }
    const detach = error instanceof ForeignCacheError ? `DETACH ${catalog}; ` : "";
    await engine.attach(catalog, `${detach}ATTACH ':memory:' AS ${catalog}; DETACH ${catalog}`);
    const aside = setAside(path, new Date());
    opening.problems.push({
      severity: "warning",
      location: opening.main.locate(["cache", "path"]),
      path: "cache.path",
      message: `this file is no cache that can be used (${messageOf(error)}); it lies at ${aside} now, and the caches are filled anew`,
    });
    await engine.attach(catalog, attach);
    return await openSnapshotStore(engine, options);
  }
}

/** Another process has the file: then there is nothing wrong with it. */
function isInUse(error: unknown): boolean {
  return /\block on file\b|conflicting lock|is being used/i.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
