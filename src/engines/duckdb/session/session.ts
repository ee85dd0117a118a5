import type duckdb from "@duckdb/node-bindings";
import type { Eventually } from "../../../eventually.ts";
import type { Column } from "../../../result/column.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Cancellation } from "../../queue/cancellation.ts";
import type { Rows } from "../../rows.ts";

/** A running read or write: its own connection, a slot while native code runs, and a cancellation. */
export interface Session {
  readonly cancellation: Cancellation;
  prepare(sql: string): Eventually<duckdb.PreparedStatement>;
  /** Runs to the end and holds all rows. If it was made from another statement, messages are about `original`. */
  execute(statement: Statement, original?: Statement): Promise<duckdb.Result>;
  /**
   * The same while `mayContinue`, which is called every few milliseconds. Undefined if it was interrupted or memory ran out. No
   * transaction may be open.
   */
  executeWhile(statement: Statement, mayContinue: () => boolean): Promise<duckdb.Result | undefined>;
  /**
   * The same in its own transaction, in one call if DuckDB allows it. The change is durable once it resolves, and also if it
   * rejects with an error that `isDurable`: only the result is lost.
   */
  executeAndCommit(statement: Statement): Promise<duckdb.Result>;
  /** The same in three calls: a commit that fails after it is durable does not lose the result. */
  executeThenCommit(statement: Statement): Promise<duckdb.Result>;
  /**
   * The columns of the result that was returned last. If only Eider can change the query's tables, they are remembered with its
   * prepared statement, and the same array is returned each time.
   */
  columnsOf(result: duckdb.Result, hasOwnTables: boolean): readonly Column[];
  /** Appends rows to a temporary table of the current transaction, and closes them. */
  append(table: string, rows: Rows): Promise<void>;
  /** Runs until the first rows are available. */
  stream(statement: Statement): Promise<duckdb.Result>;
  fetch(result: duckdb.Result): Promise<duckdb.DataChunk | undefined>;
  /** Whether a stream of this transaction failed: DuckDB does not report it, but rejects the next statement. */
  hasStreamFailed(): Promise<boolean>;
  /** Begins a transaction, which is rolled back unless it is committed. */
  begin(): Promise<void>;
  rollback(): Promise<void>;
  /** Makes everything since `begin` durable. It is not interruptible, so its outcome is always known. */
  commit(): Promise<void>;
  inTransaction(): boolean;
  /** Releases the slot while the consumer processes rows. */
  pause(): void;
  resume(): Promise<void>;
  /** Releases everything. Never fails; later calls do nothing. */
  end(): Eventually<void>;
  hasEnded(): boolean;
  /** The statement that was run last, even if it failed, or the one that it was made from. */
  lastStatement(): Statement | undefined;
}
