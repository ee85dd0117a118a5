import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Mask } from "../../../secrets.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import type { EngineOptions } from "../../embedded-engine.ts";
import { inspect } from "../plan/inspect.ts";
import { withConnection } from "../session/with-connection.ts";
import { NEXT_SUFFIX, swapDatabase } from "./swap-database.ts";

/**
 * Database files that are attached read-only. When one is replaced (`mv new.db live.db`), Eider serves the new one
 * without a restart. Running queries finish on the old file; no query sees both.
 */
export interface ReplacedFiles {
  /** Finds the files that are attached now, and watches them. */
  findAttached(): Promise<void>;
  /** Runs work, and retries it once when a file was replaced meanwhile. */
  retryIfReplaced<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface ReplacedFilesOptions extends Pick<EngineOptions, "fileIdentity" | "onFileReplaced"> {
  readonly database: duckdb.Database;
  readonly mask: Mask;
  /** Called before a file is replaced; the returned function afterwards: any table may have changed. */
  readonly onReplacing: () => () => void;
}

interface WatchedFile {
  readonly alias: string;
  readonly path: string;
  /** Identifies the file that is attached, or that could not be attached. */
  identity: string;
  /** Identifies the file seen last. One that is still changing is not attached yet. */
  seen: string;
}

/** A new file is served after at most about twice this time. */
const CHECK_INTERVAL_MS = 250;
/** Running transactions can use the old file until then. */
const CHECKS_UNTIL_DETACHED = 240;

const ATTACHED =
  "SELECT database_name, path FROM duckdb_databases() " +
  "WHERE readonly AND type = 'duckdb' AND NOT internal AND NOT encrypted AND path IS NOT NULL";

export function openReplacedFiles(options: ReplacedFilesOptions): ReplacedFiles {
  const { database, mask, onReplacing, fileIdentity, onFileReplaced } = options;
  const watched = new Map<string, WatchedFile>();
  /** Catalogs of replaced files, with how many checks are left until they are detached. */
  const retired = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let finding = Promise.resolve();
  let checking: Promise<void> | undefined;
  /** Counts starts and ends of swaps: odd during one. */
  let swaps = 0;
  let closed = false;

  function findAttached(): Promise<void> {
    if (fileIdentity === undefined) return Promise.resolve();
    // One at a time, and none after `close`: a connection to a closed database crashes the process.
    finding = finding.then(() => watchAttached(fileIdentity)).catch(() => {});
    return finding;
  }

  async function watchAttached(identityOf: NonNullable<typeof fileIdentity>): Promise<void> {
    if (closed) return;
    await withConnection(database, async (connection) => {
      for (const [alias, path] of await inspect(connection, { sql: ATTACHED, values: [] })) {
        const identity = path ? await identityOf(path) : undefined;
        if (!alias || !path || identity === undefined || retired.has(alias) || alias.endsWith(NEXT_SUFFIX)) continue;
        if (watched.get(alias)?.path === path) continue;
        watched.set(alias, { alias, path, identity, seen: identity });
      }
    });
    if (watched.size === 0 || timer !== undefined || closed) return;
    timer = setInterval(() => {
      checking ??= checkAll().finally(() => {
        checking = undefined;
      });
    }, CHECK_INTERVAL_MS);
    timer.unref();
  }

  async function checkAll(): Promise<void> {
    for (const [name, checksLeft] of retired) {
      retired.set(name, checksLeft - 1);
      if (checksLeft > 0 || closed) continue;
      retired.delete(name);
      await withConnection(database, (connection) => duckdb.query(connection, `DETACH ${quoteIdentifier(name)}`)).catch(
        () => {},
      );
    }
    for (const file of watched.values()) {
      const identity = await fileIdentity?.(file.path);
      const isSettled = identity === file.seen;
      // While there is no file, Eider serves the old one.
      if (identity === undefined || closed) continue;
      file.seen = identity;
      if (isSettled && identity !== file.identity) await replace(file, identity);
    }
  }

  async function replace(file: WatchedFile, identity: string): Promise<void> {
    file.identity = identity;
    const { alias, path } = file;
    try {
      await withConnection(database, (connection) => swap(connection, alias, path));
      onFileReplaced?.({ name: alias, problem: undefined });
    } catch (error) {
      onFileReplaced?.({ name: alias, problem: mask(errorMessage(error)) });
    }
  }

  /** Attaches the new file before it detaches the old one: an invalid file replaces nothing. */
  async function swap(connection: duckdb.Connection, alias: string, path: string): Promise<void> {
    const retiredAs = `${alias}~${swaps}`;
    const run = (sql: string): Promise<unknown> => duckdb.query(connection, sql);
    await run(`ATTACH ${quoteLiteral(path)} AS ${quoteIdentifier(alias + NEXT_SUFFIX)} (TYPE duckdb, READ_ONLY)`);
    const endReplacing = onReplacing();
    retired.set(retiredAs, CHECKS_UNTIL_DETACHED);
    swaps++;
    try {
      await swapDatabase({ alias, retiredAs, run });
    } finally {
      swaps++;
      endReplacing();
    }
  }

  async function retryOnce<T>(work: () => Promise<T>): Promise<T> {
    const before = swaps;
    try {
      return await work();
    } catch (error) {
      if (swaps === before && swaps % 2 === 0) throw error;
      await checking;
      return await work();
    }
  }

  return {
    findAttached,
    retryIfReplaced: (work) => (watched.size === 0 ? work() : retryOnce(work)),
    async close() {
      closed = true;
      clearInterval(timer);
      await finding;
      await checking;
    },
  };
}
