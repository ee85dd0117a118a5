import duckdb from "@duckdb/node-bindings";
import type { Cancellation } from "../../queue/cancellation.ts";
import { isDurable } from "../messages.ts";
import type { PooledConnection } from "./connection-pool.ts";
import { CHANGES_NAMES, LEAVES_NOTHING, MAKES_TEMPORARY } from "./statement-kinds.ts";

/** The transactions of a session, one after the other, and what they leave behind on its connection. */
export interface Transaction {
  isOpen(): boolean;
  /** Begins a transaction, which is rolled back unless it is committed. */
  begin(): Promise<void>;
  rollback(): Promise<void>;
  /** Makes everything since `begin` durable. It is not interruptible, so its outcome is always known. */
  commit(): Promise<void>;
  /** Whether a stream of the open transaction failed: DuckDB does not report it, but rejects the next statement. */
  hasStreamFailed(): Promise<boolean>;
  /** Notes that a statement was prepared. */
  notePrepared(statement: duckdb.PreparedStatement, type: duckdb.StatementType, sql: string): void;
  /** Notes that temporary objects were created. */
  noteTemporary(): void;
  /** Notes that the open transaction changed data: earlier plans do not reflect it. */
  noteWritten(): void;
  hasWritten(): boolean;
  /** Whether a statement was planned in the open transaction, after its last change. */
  isPlannedInside(statement: duckdb.PreparedStatement): boolean;
  /** Notes a commit that is durable, although DuckDB's checkpoint after it failed. */
  noteDurable(error: unknown): void;
  /** Whether another session can use the connection. */
  leavesNothing(): boolean;
}

export interface TransactionOptions {
  readonly cancellation: Cancellation;
  /** Called when a commit is durable but DuckDB's checkpoint after it failed. */
  readonly onCheckpointFailed: (error: unknown) => void;
}

export function openTransaction(
  { native, statements }: PooledConnection,
  { cancellation, onCheckpointFailed }: TransactionOptions,
): Transaction {
  let plannedInside = new WeakSet<duckdb.PreparedStatement>();
  let isOpen = false;
  let isReusable = true;
  let changesNames = false;
  /** A rollback drops temporary objects, a commit does not. */
  let makesTemporary = false;
  let hasWritten = false;

  /** For transaction control: quick, and not interruptible, because the state of the transaction depends on it. */
  async function control(sql: "BEGIN" | "COMMIT" | "ROLLBACK" | "SELECT 1"): Promise<void> {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = await duckdb.prepare(native, sql);
      statements.set(sql, statement);
    }
    await duckdb.execute_prepared(statement);
  }

  function setOpen(open: boolean): void {
    isOpen = open;
    hasWritten = false;
    plannedInside = new WeakSet();
  }

  function noteDurable(error: unknown): void {
    isReusable = false;
    onCheckpointFailed(error);
  }

  return {
    isOpen: () => isOpen,
    async begin() {
      if (isOpen) return;
      cancellation.check();
      setOpen(true);
      await control("BEGIN");
    },
    async rollback() {
      if (!isOpen) return;
      setOpen(false);
      try {
        await control("ROLLBACK");
        // DuckDB does not notice that a temporary table was dropped and recreated.
        if (changesNames) statements.clear();
        changesNames = false;
        makesTemporary = false;
      } catch {
        isReusable = false;
      }
    },
    async commit() {
      if (!isOpen) return;
      cancellation.check();
      // The transaction ends, whether the commit succeeds or not.
      setOpen(false);
      if (makesTemporary) isReusable = false;
      await control("COMMIT").catch((error: unknown) => {
        // Only the checkpoint failed. If that were reported as a failure, the client would repeat the write.
        if (!isDurable(error)) throw error;
        noteDurable(error);
      });
    },
    hasStreamFailed: () =>
      control("SELECT 1").then(
        () => false,
        () => true,
      ),
    notePrepared(statement, type, sql) {
      if (isOpen) plannedInside.add(statement);
      isReusable &&= LEAVES_NOTHING.has(type);
      changesNames ||= CHANGES_NAMES.has(type);
      makesTemporary ||= type === duckdb.StatementType.CREATE && MAKES_TEMPORARY.test(sql);
    },
    noteTemporary() {
      changesNames = true;
      makesTemporary = true;
    },
    noteWritten() {
      hasWritten = true;
      plannedInside = new WeakSet();
    },
    hasWritten: () => hasWritten,
    isPlannedInside: (statement) => plannedInside.has(statement),
    noteDurable,
    leavesNothing: () => isReusable,
  };
}
