import type { Column, ColumnType } from "../result/column.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { Statement } from "../sql/statement.ts";
import type { UserFunctions } from "../sql/user-functions.ts";
import type { ConnectionType } from "./connection-type.ts";
import type { Engine, Read, StopSignal } from "./engine.ts";
import type { ExtensionOptions, ExtensionPlace, LinkFiles, NeededExtension } from "./extensions.ts";
import type { LargeScan } from "./large-scan.ts";
import type { RemoteFiles } from "./remote-files.ts";
import type { Rows } from "./rows.ts";

/** Eider's own bookkeeping in one transaction: each statement may depend on the rows of the one before. */
export interface Change {
  readonly connections: readonly string[];
  /** The tables that it creates or changes, by the last part of their names. Cached data of other tables stays valid. */
  readonly touches: readonly string[];
  readonly signal: StopSignal;
  readonly onStart?: (() => void) | undefined;
}

/** Rows of a statement whose columns are all VARCHAR: cast other types. */
export type TextRows = readonly (readonly (string | null)[])[];

/** Puts rows of another engine into a temporary table, and closes them. Returns statements that return and drop them. */
export type StageRows = (rows: Rows) => Promise<{ readonly query: Statement; readonly drop: Statement }>;

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

/** The engine inside the process. It also holds caches, idempotency records and users from secrets, and writes files. */
export interface EmbeddedEngine extends Engine {
  /**
   * Call it once the reachable connections are open. From then on, only connections that were down may change settings or install
   * extensions. `settable` are settings that templates may change (in lower case).
   */
  lock(settable: readonly string[]): Promise<void>;
  /**
   * Makes the database read the tables of attached database servers again, before the next statement that needs them. Waits for
   * running statements, but not for long: if it returns false, that happens once they have ended. Rejects with a RequestFailure
   * `connection-down` if a server cannot be reached that is needed for it.
   */
  refreshCatalogs(): Promise<boolean>;
  /**
   * From now on, statements are planned as if this table had the columns that the last of these statements would return.
   * Returns these columns; undefined if they are unknown. Runs only what `plan` does.
   */
  assumeTable(table: AssumedTable, statements: readonly Statement[]): Promise<readonly AssumedColumn[] | undefined>;
  /**
   * The current macros and views of the main and attached databases, and which of the `called` functions (lower case) exist but
   * are unknown to the dialect.
   */
  userFunctions(called: ReadonlySet<string>): Promise<UserFunctions>;
  /** The types that a statement expects for its placeholders, in order, as far as preparing it shows them. */
  parameterTypes(sql: string): Promise<readonly (ColumnType | undefined)[]>;
  /** The tables of database servers that a query would read as a whole. None if that is unknown. Runs nothing. */
  largeScans(statements: readonly Statement[]): Promise<readonly LargeScan[]>;
  /**
   * Runs statements one after the other in one transaction, which is committed when `work` resolves and rolled back when it
   * rejects. On a conflict, it retries from the beginning. Rejects with a RequestFailure, or with what `work` threw.
   */
  change<T>(
    change: Change,
    work: (run: (statement: Statement) => Promise<TextRows>, stage: StageRows) => Promise<T>,
  ): Promise<T>;
  /** Attaches a database that no other process changes. Rejects with an EngineOpenError. */
  attach(alias: string, sql: string): Promise<void>;
  /** Writes the rows of a read into a new file. Rejects with a RequestFailure; the caller then removes the file. */
  readIntoFile(read: Read, file: NewFile): Promise<FileRows>;
  /** Writes rows of another engine into a new file, and closes them. Rejects as `readIntoFile` does. */
  rowsIntoFile(rows: Rows, file: NewFile, signal: StopSignal): Promise<FileRows>;
  /** A query without rows that has these columns, as this engine stores them. Throws if it cannot store them. */
  emptyQuery(columns: readonly Column[]): Statement;
  savings(): EngineSavings;
  /** Takes no query slot. Rejects while the engine is closing. */
  memory(): Promise<EngineMemory>;
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

/** A database file that another process has locked. */
export interface LockedFile {
  readonly path: string;
  /** The ID of that process, if it is known. */
  readonly pid: number | undefined;
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
  /** Copies a database file that another process has locked: the copy is opened instead. If omitted, such files are not opened. */
  readonly copyLocked?: ((file: LockedFile) => Promise<string>) | undefined;
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

/** How the embedded engine is opened, and what is known about it without opening it. */
export interface EmbeddedEngineType {
  readonly dialect: Dialect;
  readonly connectionTypes: readonly ConnectionType[];
  /** Whether the message of a failed query means that the engine must be reopened. */
  isLost(message: string): boolean;
  /** Whether the message of a failed connection means that another process has locked its file. */
  isLocked(message: string): boolean;
  /** Opens a database, in memory if there is no path. Rejects with an EngineOpenError. */
  open(options: OpenOptions): Promise<EmbeddedEngine>;
  /** Rejects with an EngineOpenError. */
  openRemoteFiles(options: RemoteOptions): Promise<RemoteFiles>;
  /** The extensions that SQL or a template needs, as far as its text shows. */
  neededExtensions(sql: string): readonly NeededExtension[];
  /** Where each extension comes from, in the same order. Rejects with an EngineOpenError. */
  findExtensions(needed: readonly NeededExtension[], options: ExtensionOptions): Promise<readonly ExtensionPlace[]>;
}
