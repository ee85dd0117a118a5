import type { Column } from "../result/column.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { Statement } from "../sql/statement.ts";
import type { UserFunctions } from "../sql/user-functions.ts";
import type { ConnectionType } from "./connection-type.ts";
import type { ExtensionOptions, ExtensionPlace, LinkFiles, NeededExtension } from "./extensions.ts";
import type { LargeScan } from "./large-scan.ts";
import type { Prober } from "./prober.ts";
import type { RemoteFiles } from "./remote-files.ts";
import type { Rows, WriteResult } from "./rows.ts";
import type { RecordStore, WriteOnce, WriteOnceResult } from "./write-once.ts";

/** Queries that are queued together, such as those of one endpoint: no group can keep all others waiting. */
export interface QueueGroup {
  readonly name: string;
  /** Maximum concurrent queries. */
  readonly maxConcurrency: number | undefined;
}

/** A read: all statements run in order on one connection; the last one returns the rows. */
export interface Read {
  /** Names of connections; each is opened (its `init` run once) before the first statement. */
  readonly connections: readonly string[];
  readonly queueGroup?: QueueGroup | undefined;
  readonly statements: readonly Statement[];
  /** The wanted part of the last statement's rows. Undefined: all rows. */
  readonly window: Window | undefined;
  /** Count all rows of the last of these statements, in the same transaction as the rows. */
  readonly totalOf: readonly Statement[] | undefined;
  /** Aborting it interrupts the query: `read` or `next` rejects with the reason, a RequestFailure. */
  readonly signal: StopSignal;
  /** Called when the read leaves the queue, unless it shares another read's execution. */
  readonly onStart?: (() => void) | undefined;
}

/** A write: all statements run in order on one connection. */
export interface Write {
  readonly connections: readonly string[];
  readonly queueGroup?: QueueGroup | undefined;
  readonly statements: readonly Statement[];
  /** All statements run in one transaction: an error undoes them all. Otherwise each commits by itself. */
  readonly transaction: boolean;
  /** Whether to return the rows of the last RETURNING or, if there is none, of a final SELECT. */
  readonly returnsData: boolean;
  /** Called with the number of rows to return, before the commit. It throws to roll back. */
  readonly checkRowCount?: ((count: number) => void) | undefined;
  /** As for a read. Uncommitted changes are rolled back. */
  readonly signal: StopSignal;
  readonly onStart?: (() => void) | undefined;
}

/** Eider's own bookkeeping in one transaction: each statement may depend on the rows of the one before. */
export interface Change {
  readonly connections: readonly string[];
  /** The tables that it creates or changes, by the last part of their names. Cached data of other tables stays valid. */
  readonly touches: readonly string[];
  readonly signal: StopSignal;
}

/** Rows of a statement whose columns are all VARCHAR: cast other types. */
export type TextRows = readonly (readonly (string | null)[])[];

/** The part of AbortSignal that Eider needs. A real AbortSignal costs several times as much per call. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface Window {
  readonly limit: number | undefined;
  readonly offset: number;
}

/** A file format that the engine itself can write. */
export type FileKind = "parquet";

export interface NewFile {
  readonly kind: FileKind;
  readonly path: string;
}

/** The result of `readIntoFile`. */
export interface FileRows {
  /** Rows in the file. */
  readonly rows: number;
  readonly total: number | undefined;
}

/** Why the engine rejects a statement when a project loads. `offset` counts characters (UTF-16) in the statement's SQL. */
export interface StatementProblem {
  /**
   * syntax: always invalid. names: missing or mismatched table, column, function or type. parameter: not allowed here.
   * other: depends on values.
   */
  readonly kind: "syntax" | "names" | "parameter" | "other";
  readonly message: string;
  /** The index of the statement. */
  readonly statement: number;
  readonly offset: number | undefined;
  /** What the message means. Not for clients: it may list tables. */
  readonly explanation?: string | undefined;
  /** The table, view, macro or type that does not exist, if that is the problem: the last part of its name. */
  readonly missing?: string | undefined;
}

/** A table that does not exist yet, under one or several names. */
export interface AssumedTable {
  readonly catalog: string;
  readonly schema: string;
  readonly tables: readonly string[];
}

export interface AssumedColumn {
  readonly name: string;
  /** As the database writes it. */
  readonly type: string;
}

/** Work that the engine has saved since it was opened. */
export interface EngineSavings {
  /** Reads that shared another read's execution. */
  readonly shared: number;
  /** Totals that came from the cache. */
  readonly knownTotals: number;
}

/** Memory use in bytes. */
export interface EngineMemory {
  readonly used: number;
  /** In temporary files. */
  readonly spilled: number;
  readonly limit: number;
}

/** Runs SQL. Code outside this folder does not know which database runs it. */
export interface Engine extends Prober {
  readonly dialect: Dialect;
  /**
   * Opens a connection now (runs its `init` once). Rejects with a RequestFailure `connection-down`, whose cause is the database's
   * error without secrets.
   */
  openConnection(name: string): Promise<void>;
  /**
   * Call it once the reachable connections are open. From then on, only connections that were down may change settings or install
   * extensions. `settable` are settings that templates may change (in lower case).
   */
  lock(settable: readonly string[]): Promise<void>;
  /** Prepares statements in order, and runs only CREATE TEMP, without data. Undefined: no problem. */
  plan(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /**
   * From now on, statements are planned as if this table had the columns that the last of these statements would return.
   * Returns these columns; undefined if they are unknown. Runs only what `plan` does.
   */
  assumeTable(table: AssumedTable, statements: readonly Statement[]): Promise<readonly AssumedColumn[] | undefined>;
  /**
   * The columns that the last of these statements would return for values of the bound types. Runs only what `plan` does.
   * Empty for a statement without rows. Undefined if unknown: a table is missing, or the columns depend on the data.
   */
  describe(statements: readonly Statement[]): Promise<readonly Column[] | undefined>;
  /** The tables of database servers that a query would read as a whole. None if that is unknown. Runs nothing. */
  largeScans(statements: readonly Statement[]): Promise<readonly LargeScan[]>;
  /**
   * The current macros and views of the main and attached databases, and which of the `called` functions (lower case) exist but
   * are unknown to the dialect.
   */
  userFunctions(called: ReadonlySet<string>): Promise<UserFunctions>;
  /**
   * The returned function tells whether no statement or `init` can have changed a table, view or macro since this call. Not
   * noticed: what other programs change in files and, until `refreshCatalogs`, in attached databases, and what `change` does to
   * Eider's own tables.
   */
  watchSchema(): () => boolean;
  /**
   * Makes the database read the tables of attached database servers again, before the next statement that needs them. Waits for
   * running statements, but not for long: if it returns false, that happens once they have ended. Rejects with a RequestFailure
   * `connection-down` if a server cannot be reached that is needed for it.
   */
  refreshCatalogs(): Promise<boolean>;
  /** Parses a statement: needs no table and no connection. */
  parse(sql: string): Promise<StatementProblem | undefined>;
  /** Rejects with a RequestFailure. */
  read(read: Read): Promise<Rows>;
  /** Rejects with a RequestFailure; `conflict` if other writes kept changing the same rows. */
  write(write: Write): Promise<WriteResult>;
  /**
   * Runs a write unless it is already done. Without a transaction, it continues after the committed statements. Rejects with a
   * RequestFailure; `key-reused` if the record belongs to another request.
   */
  writeOnce(write: Write, once: WriteOnce): Promise<WriteOnceResult>;
  /** Where a write that runs one of these lists of statements can keep its records. */
  recordStore(samples: readonly (readonly Statement[])[]): Promise<RecordStore>;
  /** Why these statements cannot run in one transaction, as far as their text shows. Undefined: no problem. */
  transactionProblem(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /**
   * Runs statements one after the other in one transaction, which is committed when `work` resolves and rolled back when it
   * rejects. On a conflict, it retries from the beginning. Rejects with a RequestFailure, or with what `work` threw.
   */
  change<T>(change: Change, work: (run: (statement: Statement) => Promise<TextRows>) => Promise<T>): Promise<T>;
  /** Attaches a database that no other process changes. Rejects with an EngineOpenError. */
  attach(alias: string, sql: string): Promise<void>;
  /** Writes the rows of a read into a new file. Rejects with a RequestFailure; the caller then removes the file. */
  readIntoFile(read: Read, file: NewFile): Promise<FileRows>;
  /** Queries that run or wait. */
  activity(): { readonly running: number; readonly waiting: number };
  savings(): EngineSavings;
  /** Takes no query slot. Rejects while the engine is closing. */
  memory(): Promise<EngineMemory>;
  close(): Promise<void>;
}

/** The engine cannot be opened, because of an invalid setting or an unusable file. */
export class EngineOpenError extends Error {
  /** The invalid setting, if that is the cause. */
  readonly setting: string | undefined;

  constructor(message: string, setting?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineOpenError";
    this.setting = setting;
  }
}

/** A connection as the engine needs it: its `init` is complete SQL. */
export interface ConnectionDefinition {
  readonly name: string;
  readonly init: string | undefined;
  /** Strings that must never appear in a message. */
  readonly secrets: readonly string[];
  /** Maximum concurrent queries. */
  readonly maxConcurrency?: number | undefined;
  /** Values that templates can insert into their SQL, such as paths. */
  readonly properties?: readonly string[] | undefined;
}

/** A database file that was replaced while Eider served it. */
export interface ReplacedFile {
  /** The name under which it is attached. */
  readonly name: string;
  /** Why the new file is not used, without secrets. */
  readonly problem: string | undefined;
}

export interface EngineOptions {
  readonly connections: readonly ConnectionDefinition[];
  /** Identifies the file at a path; undefined when there is none. If omitted, files are not watched. */
  readonly fileIdentity?: ((path: string) => Promise<string | undefined>) | undefined;
  /** Called after a read-only database file was replaced. With a problem, Eider still serves the old one. */
  readonly onFileReplaced?: ((file: ReplacedFile) => void) | undefined;
  /** The folder that relative paths start in, for messages. */
  readonly workingFolder?: string | undefined;
  /** Called when a write is durable but the checkpoint after it failed. The message holds no secrets. */
  readonly onCheckpointFailed?: ((message: string) => void) | undefined;
  /** The memory that the process uses, in bytes. Undefined where it is unknown. */
  readonly residentBytes?: () => number | undefined;
  /** Maximum concurrent queries. */
  readonly maxConcurrentQueries: number;
  /** How many of these may be local, that is, not wait for another machine; one per group is exempt. All if omitted. */
  readonly maxLocalQueries?: number | undefined;
  /** The maximum length of the queue; beyond it, calls fail as `overloaded`. Undefined: it adapts to the load. */
  readonly maxQueued: number | undefined;
  /** Maximum bytes of one value that a query creates or returns. Unlimited if omitted. */
  readonly maxValueBytes?: number | undefined;
}

export interface OpenOptions extends EngineOptions {
  readonly path: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
  /** Bytes of memory available to the process. The engine uses a share of it, unless the settings set a limit. */
  readonly memoryBytes?: number | undefined;
  /** Where queries spill what does not fit into memory. */
  readonly spillFolder?: string | undefined;
  /** The one folder for `readIntoFile`: it may write there even if the settings forbid file access. */
  readonly fileFolder?: string | undefined;
  /** If omitted, extensions must be in folders as DuckDB expects them. */
  readonly linkFiles?: LinkFiles | undefined;
}

/** Remote files are read with the settings of a project and the secrets of its connections. */
export type RemoteOptions = Pick<OpenOptions, "settings" | "connections" | "linkFiles">;

/** An engine that a project may run on. */
export interface EngineType {
  readonly dialect: Dialect;
  readonly connectionTypes: readonly ConnectionType[];
  /** Whether the message of a failed query means that the engine must be reopened. */
  isLost(message: string): boolean;
  /** Opens a database, in memory if there is no path. Rejects with an EngineOpenError. */
  open(options: OpenOptions): Promise<Engine>;
  /** Rejects with an EngineOpenError. */
  openRemoteFiles(options: RemoteOptions): Promise<RemoteFiles>;
  /** The extensions that SQL or a template needs, as far as its text shows. */
  neededExtensions(sql: string): readonly NeededExtension[];
  /** Where each extension comes from, in the same order. Rejects with an EngineOpenError. */
  findExtensions(needed: readonly NeededExtension[], options: ExtensionOptions): Promise<readonly ExtensionPlace[]>;
}
