import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Mask } from "../../../secrets.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import type { EngineOptions } from "../../engine.ts";
import { inspect } from "../plan/inspect.ts";
import { withConnection } from "../session/with-connection.ts";

/**
 * Database files that are attached read-only, and that somebody may replace by another (`mv new.db live.db`): the new one is
 * served without a restart. What runs goes on with the old one to its end; nobody sees a mixture.
 */
export interface ReplacedFiles {
  /** Finds what is attached by now. */
  look(): Promise<void>;
  /** Runs work that may meet the moment in which one file takes the place of the other: then it is done once more. */
  retryIfReplaced<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface ReplacedFilesOptions extends Pick<EngineOptions, "fileIdentity" | "fileReplaced"> {
  readonly database: duckdb.Database;
  readonly mask: Mask;
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
/** What the name of a file ends in while it is not served yet. */
const NEXT = "~next";
/** Transactions that have read from a file go on with it; by then they are over, or are told so. */
const LOOKS_UNTIL_DETACHED = 240;

const ATTACHED =
  "SELECT database_name, path FROM duckdb_databases() " +
  "WHERE readonly AND type = 'duckdb' AND NOT internal AND NOT encrypted AND path IS NOT NULL";

export function openReplacedFiles(options: ReplacedFilesOptions): ReplacedFiles {
  const { database, mask, replacing, fileIdentity, fileReplaced } = options;
  const watched = new Map<string, Watched>();
  /** Files that others took the place of, by the names that they have now. */
  const retired = new Map<string, number>();
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
    await withConnection(database, async (connection) => {
      for (const [alias, path] of await inspect(connection, { sql: ATTACHED, values: [] })) {
        const identity = path ? await identityOf(path) : undefined;
        if (!alias || !path || identity === undefined || retired.has(alias) || alias.endsWith(NEXT)) continue;
        if (watched.get(alias)?.path === path) continue;
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
    for (const [name, looks] of retired) {
      retired.set(name, looks - 1);
      if (looks > 0 || closed) continue;
      retired.delete(name);
      await withConnection(database, (connection) => duckdb.query(connection, `DETACH ${quoteIdentifier(name)}`)).catch(
        () => {},
      );
    }
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
      await withConnection(database, (connection) => swap(connection, alias, path));
      fileReplaced?.({ name: alias, problem: undefined });
    } catch (error) {
      fileReplaced?.({ name: alias, problem: mask(errorMessage(error)) });
    }
  }

  /** The new file is opened beside the old one: what is no database takes nobody's place. */
  async function swap(connection: duckdb.Connection, alias: string, path: string): Promise<void> {
    const retiredAs = `${alias}~${swaps}`;
    const [name, next, old] = [alias, `${alias}${NEXT}`, retiredAs].map(quoteIdentifier);
    await duckdb.query(connection, `ATTACH ${quoteLiteral(path)} AS ${next} (TYPE duckdb, READ_ONLY)`);
    const replaced = replacing();
    retired.set(retiredAs, LOOKS_UNTIL_DETACHED);
    swaps++;
    try {
      await duckdb.query(connection, `ALTER DATABASE ${name} SET ALIAS TO ${old}`);
      await duckdb.query(connection, `ALTER DATABASE ${next} SET ALIAS TO ${name}`).catch(async (error: unknown) => {
        await duckdb.query(connection, `ALTER DATABASE ${old} SET ALIAS TO ${name}; DETACH ${next}`);
        throw error;
      });
    } finally {
      swaps++;
      replaced();
    }
  }

  async function retryOnce<T>(work: () => Promise<T>): Promise<T> {
    const before = swaps;
    try {
      return await work();
    } catch (error) {
      if (swaps === before && swaps % 2 === 0) throw error;
      await looking;
      return await work();
    }
  }

  return {
    look,
    retryIfReplaced: (work) => (watched.size === 0 ? work() : retryOnce(work)),
    async close() {
      closed = true;
      clearInterval(timer);
      await finding;
      await looking;
    },
  };
}
