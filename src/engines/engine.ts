import type { Column } from "../result/column.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { Statement } from "../sql/statement.ts";
import type { Caller } from "./caller.ts";
import type { Explanation } from "./explanation.ts";
import type { Prober } from "./prober.ts";
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
  /** Undefined without authentication, and for Eider's own reads. */
  readonly caller?: (() => Caller) | undefined;
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
  readonly caller?: (() => Caller) | undefined;
  readonly onStart?: (() => void) | undefined;
}

/** Statements to explain. All belong to one read or write; the last one may have a window. */
export interface Explain extends Pick<Read, "connections" | "statements" | "window" | "signal" | "caller"> {
  /** Runs the statements too, in a transaction that is rolled back, to measure them. */
  readonly analyze: boolean;
}

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
  /** Whether it is a table or view, or the schema of one. */
  readonly missesTable?: boolean | undefined;
  /** The project can be served: the statement may become valid without a change of the project. */
  readonly isWarning?: boolean | undefined;
}

/** Runs the SQL of endpoints. Code outside this folder does not know which database runs it. */
export interface Engine extends Prober {
  readonly dialect: Dialect;
  /**
   * Opens a connection now (runs its `init` once). Rejects with a RequestFailure `connection-down`, whose cause is the database's
   * error without secrets.
   */
  openConnection(name: string): Promise<void>;
  /** Parses a statement: needs no table and no connection. */
  parse(sql: string): Promise<StatementProblem | undefined>;
  /** Prepares statements in order, and runs only CREATE TEMP, without data. Undefined: no problem. */
  plan(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /**
   * The columns that the last of these statements would return for values of the bound types. Runs only what `plan` does.
   * Empty for a statement without rows. Undefined if unknown: a table is missing, or the columns depend on the data.
   */
  describe(statements: readonly Statement[]): Promise<readonly Column[] | undefined>;
  /**
   * The returned function tells whether no statement or `init` can have changed a table, view or macro since this call. Not
   * noticed: what other programs change in files and, until `refreshCatalogs`, in attached databases, and what `change` does to
   * Eider's own tables.
   */
  watchSchema(): () => boolean;
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
  /**
   * Why these statements cannot run as one write, as far as their text shows: not in one transaction, if `transaction` is set,
   * or not so that the changed rows are counted. Undefined: no problem.
   */
  writeProblem(statements: readonly Statement[], transaction: boolean): Promise<StatementProblem | undefined>;
  /** The plans of statements. Runs nothing unless `analyze` is set. Rejects with a RequestFailure. */
  explain(explain: Explain): Promise<Explanation>;
  /** Queries that run or wait. */
  activity(): { readonly running: number; readonly waiting: number };
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
