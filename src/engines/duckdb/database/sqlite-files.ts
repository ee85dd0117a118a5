import { openLru } from "../../../bounded/lru.ts";
import type { Eventually } from "../../../eventually.ts";
import { RequestFailure } from "../../../failure.ts";
import { changedName, effectsOf } from "../../../sql/classify.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { type Statement, textValue } from "../../../sql/statement.ts";
import type { ConnectionDefinition, TextRows } from "../../embedded-engine.ts";
import type { Cancellation } from "../../queue/cancellation.ts";
import { duckdbDialect } from "../dialect.ts";
import { isFailedCommit, isLocked } from "../messages.ts";
import { type LockUse, openReadWriteLock, type ReadWriteLock } from "../session/read-write-lock.ts";
import { aliasPattern } from "./alias-pattern.ts";
import { NEXT_SUFFIX, swapDatabase } from "./swap-database.ts";

/**
 * Attached SQLite files. A query looks up its tables through one SQLite connection and reads the rows through others. If a commit
 * starts in between, it waits for the first connection, and the others wait for the commit, until SQLite gives up after 5 seconds.
 * So reads and writes of a file take turns. If a commit fails because another process has locked the file, DuckDB keeps the failed
 * transaction, and its lock, until the file is detached. See `docs/decisions/0028-sqlite-files.md`.
 */
export interface SqliteFiles {
  /** Finds the files that are attached now. */
  findAttached(): Promise<void>;
  /** Waits until the work may use its files. Undefined if it uses none. */
  enter(work: SqliteWork, use: LockUse, cancellation: Cancellation): Eventually<SqliteTurn | undefined>;
  /** Runs work that can be repeated. Repeats it, up to `MAX_TRIES` times in all, if another process has locked a file. */
  retryIfLocked<T>(work: () => Promise<T>): Promise<T>;
}

export interface SqliteTurn {
  /**
   * Whether every query must be planned in the transaction in which it runs, because it might call `sqlite_query`. A plan with
   * `sqlite_query` refers to the SQLite connection of the transaction that planned it. In another transaction, DuckDB would use a
   * closed connection and crash. Queries on tables do not need this: DuckDB plans them again.
   */
  readonly plansInTransaction: boolean;
  leave(): void;
  /** If a commit failed because a file was locked, attaches again the files that the work may have changed. */
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
  /** Whether table names without a database refer to this file. */
  readonly isDefault: boolean;
  /** In WAL mode, SQLite can read during a commit. Writes still take turns. */
  readonly readsDuringCommit: boolean;
  /** The connections that refer to it. */
  readonly connections: ReadonlySet<string>;
  readonly aliasPattern: RegExp;
  readonly lock: ReadWriteLock;
}

interface FileUse {
  readonly file: SqliteFile;
  readonly use: LockUse;
}

/** Each thread would read through its own SQLite connection, and see another state of a file that changes meanwhile. */
const SINGLE_THREADED_SCANS = "SET GLOBAL sqlite_disable_multithreaded_scans = true";

const SQLITE_QUERY = /sqlite_query/i;

const HIDDEN_QUERIES = [
  "SELECT sql FROM duckdb_views() WHERE NOT internal AND contains(lower(sql), 'sqlite_query')",
  "SELECT macro_definition FROM duckdb_functions() WHERE contains(lower(macro_definition), 'sqlite_query')",
];

/** SQLite itself waits this long for a lock. */
const PATIENCE_MS = 5_000;
/** Each try may wait that long for SQLite's lock. */
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
  const setsScans = connections.some(({ init }) => /sqlite_disable_multithreaded_scans/i.test(init ?? ""));
  /** Which files a statement changes, by its SQL. */
  const changes = openLru<readonly SqliteFile[]>({ maxBytes: MAX_BYTES });

  async function fileOf([alias, path, readOnly, isDefault, settings]: TextRows[number]): Promise<SqliteFile> {
    const name = alias ?? "";
    const known = files.find((file) => file.alias === name && file.path === path);
    const pattern = aliasPattern(name);
    const referring = connections.filter(({ init }) => init !== undefined && pattern.test(init));
    return {
      alias: name,
      path: path ?? "",
      readOnly: readOnly === "true",
      settings: ["TYPE sqlite", settings ?? ""].filter(Boolean).join(", "),
      isDefault: isDefault === "true",
      readsDuringCommit: await usesWal(name),
      connections: new Set(referring.map((connection) => connection.name)),
      aliasPattern: pattern,
      lock: known?.lock ?? openReadWriteLock({ patienceMs: PATIENCE_MS, maxWaiting: maxQueued ?? MAX_WAITING }),
    };
  }

  async function usesWal(alias: string): Promise<boolean> {
    // The name is a bound value, because DuckDB plans a query with bound values in the transaction in which it runs.
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
      statements.some(({ sql }) => file.aliasPattern.test(sql))
    );
  }

  /** The lock that the work needs on a file. Undefined if it needs none. */
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

  /** No other call holds the lock now, so only the failed transaction keeps the old attachment alive. (In WAL mode, running reads do too.) */
  async function attachAgain(changed: readonly SqliteFile[]): Promise<void> {
    for (const { alias, path, settings } of changed) {
      const retiredAs = `${alias}~old`;
      await run(`ATTACH ${quoteLiteral(path)} AS ${quoteIdentifier(alias + NEXT_SUFFIX)} (${settings})`);
      await swapDatabase({ alias, retiredAs, run });
      await run(`DETACH ${quoteIdentifier(retiredAs)}`);
    }
  }

  return {
    async findAttached() {
      files = await Promise.all((await inspect(ATTACHED)).map(fileOf));
      changes.clear();
      if (files.length === 0) return;
      hidesQueries = false;
      for (const sql of HIDDEN_QUERIES) hidesQueries ||= (await inspect({ sql, values: [] })).length > 0;
      // A project that has locked its settings keeps them.
      if (files.some(({ readOnly }) => !readOnly) && !setsScans) await run(SINGLE_THREADED_SCANS).catch(() => {});
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
    retryIfLocked: (work) => (files.length === 0 ? work() : retry(work)),
  };
}

function isConflictFailure(error: unknown): boolean {
  return error instanceof RequestFailure && error.failure.kind === "conflict";
}

async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      // A write that ends in a conflict has been repeated often enough.
      if (tries === MAX_TRIES || !isLocked(error) || isConflictFailure(error)) throw error;
    }
  }
}
