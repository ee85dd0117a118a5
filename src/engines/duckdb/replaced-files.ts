import duckdb from "@duckdb/node-bindings";
import type { EngineOptions } from "../engine.ts";
import { inspect } from "./inspect.ts";
import { messageOf } from "./messages.ts";
import { quoteName, quoteText } from "./sql-text.ts";

/**
 * Database files that are attached read-only, and that somebody may replace by another (`mv new.db live.db`): the new one is
 * served without a restart. What runs goes on with the old one to its end; nobody sees a mixture.
 */
export interface ReplacedFiles {
  /** Finds what is attached by now. */
  look(): Promise<void>;
  /** Runs work that may meet the moment in which one file takes the place of the other: then it is done once more. */
  across<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface ReplacedFilesOptions extends Pick<EngineOptions, "fileIdentity" | "fileReplaced"> {
  readonly database: duckdb.Database;
  /** Called when a file is about to be replaced, and what it returns when it has been: any table may have changed. */
  readonly replacing: () => () => void;
}

interface Watched {
  readonly alias: string;
  readonly path: string;
  /** The file that is attached, or that was tried in vain. */
  identity: string;
  /** What was seen last. A file that still grows is left alone. */
  seen: string;
}

/** Twice this time after a file was replaced, the new one is served. */
const LOOK_EVERY_MS = 250;

const ATTACHED =
  "SELECT database_name, path FROM duckdb_databases() " +
  "WHERE readonly AND type = 'duckdb' AND NOT internal AND NOT encrypted AND path IS NOT NULL";

export function openReplacedFiles(options: ReplacedFilesOptions): ReplacedFiles {
  const { database, replacing, fileIdentity, fileReplaced } = options;
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let finding = Promise.resolve();
  let looking: Promise<void> | undefined;
  /** Counts beginnings and ends: odd while one is under way. */
  let swaps = 0;
  let closed = false;

  function look(): Promise<void> {
    if (fileIdentity === undefined) return Promise.resolve();
    // One after the other, and the last before the end: a connection to a database that is closed ends the process.
    finding = finding.then(() => findAttached(fileIdentity)).catch(() => {});
    return finding;
  }

  async function findAttached(identityOf: NonNullable<typeof fileIdentity>): Promise<void> {
    if (closed) return;
    await onConnection(async (connection) => {
      for (const [alias, path] of await inspect(connection, { sql: ATTACHED, values: [] })) {
        const identity = path ? await identityOf(path) : undefined;
        if (!alias || !path || identity === undefined || watched.get(alias)?.path === path) continue;
        watched.set(alias, { alias, path, identity, seen: identity });
      }
    });
    if (watched.size === 0 || timer !== undefined || closed) return;
    timer = setInterval(() => {
      looking ??= checkAll().finally(() => {
        looking = undefined;
      });
    }, LOOK_EVERY_MS);
    timer.unref();
  }

  async function checkAll(): Promise<void> {
    for (const file of watched.values()) {
      const identity = await fileIdentity?.(file.path);
      const isSettled = identity === file.seen;
      // While there is no file, the one that was there is served on.
      if (identity === undefined || closed) continue;
      file.seen = identity;
      if (isSettled && identity !== file.identity) await replace(file, identity);
    }
  }

  async function replace(file: Watched, identity: string): Promise<void> {
    file.identity = identity;
    const { alias, path } = file;
    try {
      await onConnection((connection) => swap(connection, alias, path));
      fileReplaced?.({ name: alias, problem: undefined });
    } catch (error) {
      fileReplaced?.({ name: alias, problem: messageOf(error) });
    }
  }

  /** The new file is opened beside the old one: what is no database takes nobody's place. */
  async function swap(connection: duckdb.Connection, alias: string, path: string): Promise<void> {
    const [name, next, old] = [alias, `${alias}~next`, `${alias}~old`].map(quoteName);
    await duckdb.query(connection, `ATTACH ${quoteText(path)} AS ${next} (TYPE duckdb, READ_ONLY)`);
    const replaced = replacing();
    swaps++;
    try {
      await duckdb.query(connection, `ALTER DATABASE ${name} SET ALIAS TO ${old}`);
      await duckdb.query(connection, `ALTER DATABASE ${next} SET ALIAS TO ${name}`);
    } finally {
      swaps++;
      replaced();
    }
    // Transactions that have read from it keep it until they are over.
    await duckdb.query(connection, `DETACH ${old}`);
  }

  async function onConnection(work: (connection: duckdb.Connection) => Promise<void>): Promise<void> {
    const connection = await duckdb.connect(database);
    try {
      await work(connection);
    } finally {
      duckdb.disconnect_sync(connection);
    }
  }

  return {
    look,
    async across(work) {
      if (watched.size === 0) return await work();
      const before = swaps;
      try {
        return await work();
      } catch (error) {
        if (swaps === before && swaps % 2 === 0) throw error;
        await looking;
        return await work();
      }
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await finding;
      await looking;
    },
  };
}
