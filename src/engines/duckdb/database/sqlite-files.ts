import { openLru } from "../../../bounded/lru.ts";
import type { Eventually } from "../../../eventually.ts";
import { changedName, effectsOf } from "../../../sql/classify.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { type Statement, textValue } from "../../../sql/statement.ts";
import type { ConnectionDefinition, TextRows } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import { isFailedCommit, isLocked } from "../messages.ts";
import type { Cancellation } from "../session/cancellation.ts";
import { type LockUse, openReadWriteLock, type ReadWriteLock } from "../session/read-write-lock.ts";

/**
 * Attached SQLite files. A query reads such a file through two SQLite connections. When a commit comes between them, the commit
 * waits for the first one and the second one for the commit. So reads and writes of a file take turns. If another process
 * causes a commit to fail, DuckDB keeps the failed transaction and its lock on the file: only attaching the file again ends it.
 * Measured in `docs/decisions/0028-sqlite-files.md`.
 */
export interface SqliteFiles {
  /** Finds the files that are attached now. */
  findAttached(): Promise<void>;
  /** Waits until the work may use its files. Undefined if it uses none. */
  enter(work: SqliteWork, use: LockUse, cancellation: Cancellation): Eventually<SqliteTurn | undefined>;
  /** Runs work that can be repeated, and repeats it while another process has locked a file. */
  retryWhileLocked<T>(work: () => Promise<T>): Promise<T>;
}

export interface SqliteTurn {
  /**
   * Whether the work may call `sqlite_query`. A plan with it refers to the SQLite connection of its transaction: in another one,
   * DuckDB would use a closed connection, and crash. It plans queries on tables again by itself.
   */
  readonly plansInTransaction: boolean;
  leave(): void;
  /** If the error is a failed commit, attaches the files again that may have been changed. */
  recoverFrom(error: unknown): Promise<void>;
}

export interface SqliteWork {
  readonly connections: readonly string[];
  readonly statements?: readonly Statement[] | undefined;
}

export interface SqliteFilesOptions {
  readonly connections: readonly ConnectionDefinition[];
  readonly maxQueued: number | undefined;
  readonly inspect: (statement: Statement) => Promise<TextRows>;
  /** Runs statements that attach and detach databases. */
  readonly run: (sql: string) => Promise<void>;
}

interface SqliteFile {
  readonly alias: string;
  readonly readOnly: boolean;
  readonly path: string;
  /** The options of ATTACH, as SQL. */
  readonly settings: string;
  /** Names without a database refer to this one. */
  readonly isDefault: boolean;
  /** In its WAL mode, SQLite reads during a commit. Writes still take turns. */
  readonly readsDuringCommit: boolean;
  /** The connections that refer to it. */
  readonly connections: ReadonlySet<string>;
  readonly mentioned: RegExp;
  readonly lock: ReadWriteLock;
}

interface FileUse {
  readonly file: SqliteFile;
  readonly use: LockUse;
}

const SQLITE_QUERY = /sqlite_query/i;

const HIDDEN_QUERIES: Statement = {
  sql:
    "SELECT sql FROM duckdb_views() WHERE NOT internal AND contains(lower(sql), 'sqlite_query') UNION ALL " +
    "SELECT macro_definition FROM duckdb_functions() WHERE contains(lower(macro_definition), 'sqlite_query')",
  values: [],
};

/** As long as SQLite itself waits for a lock. */
const PATIENCE_MS = 5_000;
/** Each try waits as long. */
const MAX_TRIES = 5;
const MAX_WAITING = 1_000;
const MAX_BYTES = 1024 * 1024;

const ATTACHED: Statement = {
  sql:
    "SELECT database_name, path, readonly::VARCHAR, (database_name = current_database())::VARCHAR, " +
    "array_to_string(list_transform(map_entries(options), " +
    "lambda option: option.key || ' ''' || replace(option.value, '''', '''''') || ''''), ', ') " +
    "FROM duckdb_databases() WHERE type = 'sqlite' AND NOT internal " +
    "AND path IS NOT NULL AND path <> ':memory:' AND NOT starts_with(database_name, '__ducklake_metadata_')",
  values: [],
};

export function openSqliteFiles({ connections, maxQueued, inspect, run }: SqliteFilesOptions): SqliteFiles {
  let files: readonly SqliteFile[] = [];
  /** Whether a view or a macro calls `sqlite_query`. */
  let hidesQueries = false;
  /** Which files a statement changes, by its SQL. */
  const changes = openLru<readonly SqliteFile[]>({ maxBytes: MAX_BYTES });

  async function fileOf([alias, path, readOnly, isDefault, settings]: TextRows[number]): Promise<SqliteFile> {
    const name = alias ?? "";
    const known = files.find((file) => file.alias === name && file.path === path);
    const mentioned = new RegExp(`(?<![\\w$])${name.replace(/[^\w\s]/g, "\\$&")}(?![\\w$])`, "i");
    const referring = connections.filter(({ init }) => init !== undefined && mentioned.test(init));
    return {
      alias: name,
      path: path ?? "",
      readOnly: readOnly === "true",
      settings: ["TYPE sqlite", settings ?? ""].filter(Boolean).join(", "),
      isDefault: isDefault === "true",
      readsDuringCommit: await usesWal(name),
      connections: new Set(referring.map((connection) => connection.name)),
      mentioned,
      lock: known?.lock ?? openReadWriteLock({ patienceMs: PATIENCE_MS, maxWaiting: maxQueued ?? MAX_WAITING }),
    };
  }

  async function usesWal(alias: string): Promise<boolean> {
    // The name is a value, because DuckDB plans a query with values in the transaction in which it runs.
    const mode = { sql: "FROM sqlite_query($1, 'PRAGMA journal_mode')", values: [textValue(alias)] };
    const [row] = await inspect(mode).catch((): TextRows => []);
    return row?.[0] === "wal";
  }

  /** The files that a statement may change, judging by its text. */
  function changedBy({ sql }: Statement): readonly SqliteFile[] {
    const known = changes.get(sql);
    if (known !== undefined) return known;
    const changed = effectsOf([sql], duckdbDialect).some(({ kind }) => kind === "changes") ? filesNamedIn(sql) : [];
    changes.set(sql, changed);
    return changed;
  }

  function filesNamedIn(sql: string): readonly SqliteFile[] {
    const path = changedName(sql, duckdbDialect);
    if (path === undefined) return files;
    const named = files.filter(({ alias }) => path.length > 1 && alias.toLowerCase() === path[0]);
    return named.length > 0 ? named : files.filter(({ isDefault }) => isDefault);
  }

  function isUsed(file: SqliteFile, { connections: names, statements = [] }: SqliteWork): boolean {
    return (
      file.isDefault ||
      names.some((name) => file.connections.has(name)) ||
      statements.some(({ sql }) => file.mentioned.test(sql))
    );
  }

  /** How the work uses a file that others may be changing. */
  function useOf(file: SqliteFile, { statements = [] }: SqliteWork, use: LockUse): LockUse | undefined {
    if (file.readOnly) return undefined;
    if (use === "write" && statements.some((statement) => changedBy(statement).includes(file))) return "write";
    return file.readsDuringCommit ? undefined : "read";
  }

  /** All enter in the same order, so that no two wait for each other. */
  async function enterAll(
    uses: readonly FileUse[],
    { statements = [] }: SqliteWork,
    cancellation: Cancellation,
  ): Promise<SqliteTurn> {
    const leaves: (() => void)[] = [];
    const leave = (): void => {
      for (const each of leaves.splice(0)) each();
    };
    try {
      for (const { file, use } of uses) leaves.push(await file.lock.enter(use, cancellation));
    } catch (error) {
      leave();
      throw error;
    }
    return {
      plansInTransaction: hidesQueries || statements.some(({ sql }) => SQLITE_QUERY.test(sql)),
      leave,
      async recoverFrom(error) {
        if (!isFailedCommit(error) || !isLocked(error)) return;
        await attachAgain(uses.flatMap(({ file, use }) => (use === "write" ? [file] : [])));
      },
    };
  }

  /** Nobody else uses the files: the failed transaction is the last one that keeps the old attachment alive. */
  async function attachAgain(changed: readonly SqliteFile[]): Promise<void> {
    for (const { alias, path, settings } of changed) {
      const [name, next, old] = [alias, `${alias}~next`, `${alias}~old`].map(quoteIdentifier);
      const swap = `ALTER DATABASE ${name} SET ALIAS TO ${old}; ALTER DATABASE ${next} SET ALIAS TO ${name}`;
      await run(`ATTACH ${quoteLiteral(path)} AS ${next} (${settings})`);
      await run(swap).catch(async (error: unknown) => {
        await run(`DETACH ${next}`);
        throw error;
      });
      await run(`DETACH ${old}`);
    }
  }

  return {
    async findAttached() {
      files = await Promise.all((await inspect(ATTACHED)).map(fileOf));
      changes.clear();
      if (files.length > 0) hidesQueries = (await inspect(HIDDEN_QUERIES)).length > 0;
    },
    enter(work, use, cancellation) {
      if (files.length === 0) return undefined;
      const used = files.filter((file) => isUsed(file, work));
      if (used.length === 0) return undefined;
      const uses = used.flatMap((file) => {
        const needed = useOf(file, work, use);
        return needed === undefined ? [] : [{ file, use: needed }];
      });
      return enterAll(uses, work, cancellation);
    },
    retryWhileLocked: (work) => (files.length === 0 ? work() : retry(work)),
  };
}

async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === MAX_TRIES || !isLocked(error)) throw error;
    }
  }
}
