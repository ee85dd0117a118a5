import type { CacheDefinition } from "../cache/cache.ts";
import { createParentFolder, setAside } from "../cache/cache-file.ts";
import { unusablePathMessage } from "../cache/cache-path.ts";
import type { Caches } from "../cache/caches.ts";
import type { Sharing } from "../cache/coordination.ts";
import { ForeignCacheError, openSnapshotStore } from "../cache/duckdb-store.ts";
import { attachLake, isShared } from "../cache/ducklake.ts";
import { parseLakeAddress } from "../cache/lake-address.ts";
import { openLakeUpkeep } from "../cache/lake-upkeep.ts";
import { openLeadership, soleLeader } from "../cache/leader.ts";
import { noCaches } from "../cache/no-caches.ts";
import { openCaches } from "../cache/open-caches.ts";
import { afterMs } from "../cache/schedule.ts";
import { sharedStore } from "../cache/shared-store.ts";
import type { SnapshotStore } from "../cache/snapshot-store.ts";
import type { CacheStorage } from "../config/cache-config.ts";
import type { Problem } from "../config/problem.ts";
import type { MainConfig, Project } from "../config/project.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { EngineOpenError } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { quoteLiteral } from "../sql/quote.ts";

/**
 * `serve`: caches are refreshed on their schedules. `maintain`: they are opened, but refreshed only on request.
 * `check`: caches are empty and in memory, so that no file is touched.
 */
export type Purpose = "serve" | "maintain" | "check";

export interface CacheParts extends Engines {
  /** Whether a connection is open. */
  readonly isOpen: (connection: string) => boolean;
  readonly definitions: readonly CacheDefinition[];
  readonly report: Report;
  readonly purpose: Purpose;
}

export interface OpenedCaches {
  readonly caches: Caches;
  readonly problems: readonly Problem[];
}

/** Whether an endpoint has a cache or reads the audit tables, which must then exist. */
function needsCaches({ main, endpoints }: Project): boolean {
  const audit = new RegExp(`\\b${main.cache?.catalog ?? ""}"?\\s*\\.\\s*"?audit\\b`, "i");
  return endpoints.some(({ cache, template }) => cache !== undefined || audit.test(template?.text ?? ""));
}

/** Opens the cache database if an endpoint needs it. Rejects with an Error whose message is for the user. */
export async function openProjectCaches(project: Project, parts: CacheParts): Promise<OpenedCaches> {
  const { main } = project;
  if (main.cache === undefined) return { caches: noCaches, problems: [] };
  const problems = await pathProblems(main.cache, main, parts.engine);
  if (!needsCaches(project)) return { caches: noCaches, problems };
  const storage = parts.purpose === "check" || problems.length > 0 ? inMemory(main.cache) : main.cache;
  const { store, sharing, ...opened } = await openStore(storage, { main, parts, problems });
  const caches = await openCaches({
    store,
    definitions: parts.definitions,
    now: Date.now,
    report: parts.report,
    maxConcurrentRefreshes: storage.maxConcurrentRefreshes,
    maxBytes: storage.maxBytes,
    warmUp: storage.warmUp,
    sharing,
  });
  const close = async (): Promise<void> => {
    await caches.close();
    await opened.close?.();
  };
  return { caches: { ...caches, close }, problems };
}

/** Reports a cache path that holds something other than a cache. That file stays unchanged. */
async function pathProblems({ backend }: CacheStorage, main: MainConfig, engine: EmbeddedEngine): Promise<Problem[]> {
  const file = fileOf(backend);
  const message = file && (await unusablePathMessage(engine, file.path, backend.kind));
  if (file === undefined || message === undefined) return [];
  return [{ severity: "error", location: main.locate(file.key), path: file.key.join("."), message }];
}

function fileOf(
  backend: CacheStorage["backend"],
): { readonly path: string; readonly key: readonly string[] } | undefined {
  if (backend.kind === "duckdb")
    return backend.path === undefined ? undefined : { path: backend.path, key: ["cache", "path"] };
  const path = lakeFile(backend.metadataPath);
  return path === undefined ? undefined : { path, key: [backend.isRequired ? "cache" : "ducklake", "metadata-path"] };
}

/** Undefined for a catalog in another database, and for an invalid path, which `openStore` reports. */
function lakeFile(metadataPath: string): string | undefined {
  try {
    const address = parseLakeAddress(metadataPath);
    return address.kind === "file" ? address.path : undefined;
  } catch {
    return undefined;
  }
}

function inMemory(storage: CacheStorage): CacheStorage {
  return { ...storage, backend: { kind: "duckdb", path: undefined }, warmUp: false };
}

interface OpenContext {
  readonly main: MainConfig;
  readonly parts: CacheParts;
  readonly problems: Problem[];
}

interface OpenedStore {
  readonly store: SnapshotStore;
  readonly sharing?: Sharing | undefined;
  close?(): Promise<void>;
}

async function openStore(storage: CacheStorage, opening: OpenContext): Promise<OpenedStore> {
  const { backend } = storage;
  if (backend.kind === "duckdb") return { store: await openFileStore(storage, backend.path, opening) };
  try {
    return await openLakeStore(storage, backend, opening);
  } catch (error) {
    if (backend.isRequired) throw new Error(`the DuckLake catalog cannot be opened: ${messageOf(error)}`);
    // flAPI has no other cache storage, so its projects must work without the DuckLake extension.
    opening.problems.push({
      severity: "warning",
      location: opening.main.locate(["ducklake"]),
      path: "ducklake",
      message: `DuckLake cannot be used (${messageOf(error)}); caches are kept in memory instead`,
    });
    return { store: await openFileStore(storage, undefined, opening) };
  }
}

/** A leader without a heartbeat for this long is replaced. */
const LEASE_MS = 10_000;
/** How often old versions of the catalog are removed: every heartbeat adds one. */
const CLEAN_EVERY_MS = 60_000;

async function openLakeStore(
  { catalog }: CacheStorage,
  { metadataPath, dataPath }: Extract<CacheStorage["backend"], { kind: "ducklake" }>,
  { parts: { engine, engineOf, report, isOpen } }: OpenContext,
): Promise<OpenedStore> {
  const lake = { catalog, metadataPath, dataPath };
  await attachLake(engine, lake, afterMs);
  const upkeep = openLakeUpkeep({ engine, lake, now: () => performance.now(), report });
  const leadership = isShared(lake)
    ? await openLeadership({
        engine,
        catalog,
        id: crypto.randomUUID(),
        leaseMs: LEASE_MS,
        now: () => performance.now(),
        after: afterMs,
        report,
        changed: () => {},
      })
    : soleLeader;
  const shared = isShared(lake) ? { fence: () => (leadership.isLeader() ? leadership.fence() : []) } : undefined;
  const plain = await openSnapshotStore(engine, {
    now: Date.now,
    randomId: () => crypto.randomUUID(),
    catalog,
    engineOf,
    isOpen,
    shared,
  });
  const cleaningStore: SnapshotStore = {
    ...plain,
    async drop(snapshots) {
      await plain.drop(snapshots);
      await upkeep.clean();
    },
  };
  const leads = (): boolean => leadership.isLeader();
  const cleaningTimer = setInterval(() => leads() && void upkeep.clean(), CLEAN_EVERY_MS).unref();
  return {
    store: shared === undefined ? cleaningStore : sharedStore(cleaningStore, { leads, after: afterMs }),
    sharing: shared === undefined ? undefined : { leads },
    close() {
      clearInterval(cleaningTimer);
      return leadership.close();
    },
  };
}

async function openFileStore(
  { catalog }: CacheStorage,
  path: string | undefined,
  opening: OpenContext,
): Promise<SnapshotStore> {
  const { engine, engineOf, isOpen } = opening.parts;
  const options = {
    now: Date.now,
    randomId: () => crypto.randomUUID(),
    catalog,
    engineOf,
    isOpen,
    inMemory: path === undefined,
  };
  if (path !== undefined) createParentFolder(path);
  const attach = `ATTACH ${quoteLiteral(path ?? ":memory:")} AS ${catalog}`;
  try {
    await engine.attach(catalog, attach);
    return await openSnapshotStore(engine, options);
  } catch (error) {
    const isUnusable = error instanceof EngineOpenError || error instanceof ForeignCacheError;
    if (path === undefined || mayBeIntact(error) || !isUnusable) {
      throw new Error(`the cache file cannot be opened: ${messageOf(error)}`);
    }
    const detach = error instanceof ForeignCacheError ? `DETACH ${catalog}; ` : "";
    await engine.attach(catalog, `${detach}ATTACH ':memory:' AS ${catalog}; DETACH ${catalog}`);
    const aside = setAside(path, new Date());
    opening.problems.push({
      severity: "warning",
      location: opening.main.locate(["cache", "path"]),
      path: "cache.path",
      message: `not a usable cache file (${messageOf(error)}); moved to ${aside}, rebuilding caches`,
    });
    await engine.attach(catalog, attach);
    return await openSnapshotStore(engine, options);
  }
}

/** The file itself may be fine: another process or connection has it open, or access is denied. */
function mayBeIntact(error: unknown): boolean {
  return /\block on file\b|conflicting lock|is being used|already attached|file handle conflict|permission|denied|read-only|too many open/i.test(
    messageOf(error),
  );
}

function messageOf(error: unknown): string {
  return errorMessage(error).split("\n")[0] ?? "";
}
