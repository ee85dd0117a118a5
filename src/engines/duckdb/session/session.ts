import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Statement } from "../../../sql/statement.ts";
import { isDurable } from "../messages.ts";
import { bindValues, hasLongValues, type ParameterType, parameterTypes } from "./bind-values.ts";
import { type Cancellation, interruptible, interruptUnlessDone } from "./cancellation.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { extractStatements } from "./extract-statements.ts";
import type { SlotRequest, Slots } from "./slots.ts";
import { CHANGES_NAMES, CHANGES_ROWS, LEAVES_NOTHING, MAKES_TEMPORARY, RUNS_ONCE } from "./statement-kinds.ts";

/** A running read or write: its own connection, a slot while native code runs, and a cancellation. */
export interface Session {
  readonly cancellation: Cancellation;
  prepare(sql: string): Promise<duckdb.PreparedStatement>;
  /** Runs to the end and holds all rows. */
  execute(statement: Statement): Promise<duckdb.Result>;
  /**
   * The same in its own transaction, in one call if DuckDB allows it. The change is durable once it resolves, and also if it
   * rejects with an error that `isDurable`: only the result is lost.
   */
  executeAndCommit(statement: Statement): Promise<duckdb.Result>;
  /** The same in three calls: a commit that fails after it is durable does not lose the result. */
  executeThenCommit(statement: Statement): Promise<duckdb.Result>;
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
  /** Releases everything. Never rejects; later calls do nothing. */
  end(): Promise<void>;
  hasEnded(): boolean;
  /** The statement that was run last, even if it failed. */
  lastStatement(): Statement | undefined;
}

/** The data version at which statements without parameters were planned. */
const plannedAt = new WeakMap<duckdb.PreparedStatement, number>();
const MAX_PLANS = 3;

/** The parameter types of statements that change rows. */
const parameterTypesOf = new WeakMap<duckdb.PreparedStatement, readonly ParameterType[]>();

export interface SessionOptions {
  readonly pool: ConnectionPool;
  readonly slots: Slots;
  readonly request: SlotRequest;
  readonly cancellation: Cancellation;
  /** Called when a commit is durable but DuckDB's checkpoint after it failed. */
  readonly onCheckpointFailed: (error: unknown) => void;
}

/** The caller has taken a slot; the session releases it, and ends the cancellation. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { pool, slots, request, cancellation } = options;
  const connection = await pool.take().catch((error: unknown) => {
    slots.release(request);
    slots.leave(request);
    throw error;
  });
  const { native, statements } = connection;
  /** Statements that were planned in the open transaction. */
  let plannedInside = new WeakSet<duckdb.PreparedStatement>();
  let holdsSlot = true;
  let inTransaction = false;
  let isReusable = true;
  let changesNames = false;
  /** A rollback drops temporary objects, a commit does not. */
  let makesTemporary = false;
  let hasWritten = false;
  let ending: Promise<void> | undefined;
  let last: Statement | undefined;

  async function prepare(sql: string): Promise<duckdb.PreparedStatement> {
    const known = statements.get(sql);
    if (known !== undefined && isPlanCurrent(known)) return known;
    statements.delete(sql);
    const moment = pool.versions.now();
    try {
      const statement = await interruptible(native, cancellation, () => duckdb.prepare(native, sql));
      if (!RUNS_ONCE.test(sql)) statements.set(sql, statement);
      if (duckdb.nparams(statement) === 0) plannedAt.set(statement, moment);
      if (inTransaction) plannedInside.add(statement);
      const type = duckdb.prepared_statement_type(statement);
      if (CHANGES_ROWS.has(type)) parameterTypesOf.set(statement, parameterTypes(statement));
      isReusable &&= LEAVES_NOTHING.has(type);
      changesNames ||= CHANGES_NAMES.has(type);
      makesTemporary ||= type === duckdb.StatementType.CREATE && MAKES_TEMPORARY.test(sql);
      return statement;
    } catch (error) {
      if (!errorMessage(error).includes("Cannot prepare multiple statements")) throw error;
      return await prepareExpanded(sql);
    }
  }

  /** DuckDB expands some statements, such as PIVOT: a temporary type from the data, then the query. */
  async function prepareExpanded(sql: string): Promise<duckdb.PreparedStatement> {
    await begin();
    changesNames = true;
    makesTemporary = true;
    const parts = await extractStatements(native, sql);
    let statement = await parts.prepare(0);
    // Some are wrapped in two SETs that control how errors end the transaction. These are skipped: here, any error ends it.
    const isWrapped = duckdb.prepared_statement_type(statement) === duckdb.StatementType.SET;
    if (isWrapped) statement = await parts.prepare(1);
    for (let index = isWrapped ? 2 : 1; index < parts.count - (isWrapped ? 1 : 0); index++) {
      const before = statement;
      await interruptible(native, cancellation, () => duckdb.execute_prepared(before));
      statement = await parts.prepare(index);
    }
    return statement;
  }

  /**
   * Whether the plan of a statement matches the data. DuckDB replans a statement with parameters at each execution, and keeps
   * the plan of one without. Such a plan depends on the column statistics at that time, and may miss later rows.
   */
  function isPlanCurrent(statement: duckdb.PreparedStatement): boolean {
    const moment = plannedAt.get(statement);
    return moment === undefined || plannedInside.has(statement) || (!hasWritten && pool.versions.quietSince(moment));
  }

  async function run(
    statement: Statement,
    execute: (statement: duckdb.PreparedStatement) => Promise<duckdb.Result>,
  ): Promise<duckdb.Result> {
    last = statement;
    for (let tries = 1; ; tries++) {
      const prepared = await prepare(statement.sql);
      const repeatable = duckdb.prepared_statement_type(prepared) === duckdb.StatementType.SELECT;
      // A statement that changes data cannot run twice: it is planned in the transaction in which it runs.
      if (!repeatable && inTransaction && plannedAt.has(prepared) && !plannedInside.has(prepared)) {
        statements.delete(statement.sql);
        continue;
      }
      const result = await runPrepared(prepared, statement, execute);
      if (!repeatable && inTransaction) {
        // Earlier plans do not reflect this change.
        hasWritten = true;
        plannedInside = new WeakSet();
      }
      if (!repeatable || isPlanCurrent(prepared)) return result;
      // A write came between planning and execution. If that happens repeatedly, both run in one transaction.
      if (tries === MAX_PLANS) await begin();
    }
  }

  async function runPrepared(
    prepared: duckdb.PreparedStatement,
    { sql, values }: Statement,
    execute: (statement: duckdb.PreparedStatement) => Promise<duckdb.Result>,
    runNative: typeof interruptible = interruptible,
  ): Promise<duckdb.Result> {
    try {
      bindValues(prepared, values, parameterTypesOf.get(prepared));
      const result = await runNative(native, cancellation, () => execute(prepared));
      // A cached statement keeps the values that were bound last.
      if (hasLongValues(values)) statements.delete(sql);
      return result;
    } catch (error) {
      statements.delete(sql);
      throw error;
    }
  }

  async function executeAndCommit(statement: Statement): Promise<duckdb.Result> {
    last = statement;
    if (statement.values.length > 0) {
      const prepared = await prepare(statement.sql);
      if (!inTransaction) {
        return await runPrepared(prepared, statement, duckdb.execute_prepared, interruptUnlessDone).catch(
          (error: unknown) => {
            if (isDurable(error)) noteDurable(error);
            throw error;
          },
        );
      }
    }
    return await executeThenCommit(statement);
  }

  async function executeThenCommit(statement: Statement): Promise<duckdb.Result> {
    // An earlier plan may not match the data of the transaction.
    await begin();
    const result = await run(statement, duckdb.execute_prepared);
    await commit();
    return result;
  }

  /** For transaction control: quick, and not interruptible, because the state of the transaction depends on it. */
  async function control(sql: "BEGIN" | "COMMIT" | "ROLLBACK" | "SELECT 1"): Promise<void> {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = await duckdb.prepare(native, sql);
      statements.set(sql, statement);
    }
    await duckdb.execute_prepared(statement);
  }

  function setInTransaction(isOpen: boolean): void {
    inTransaction = isOpen;
    hasWritten = false;
    plannedInside = new WeakSet();
  }

  async function begin(): Promise<void> {
    if (inTransaction) return;
    cancellation.check();
    setInTransaction(true);
    await control("BEGIN");
  }

  async function rollback(): Promise<void> {
    if (!inTransaction) return;
    setInTransaction(false);
    try {
      await control("ROLLBACK");
      // DuckDB does not notice that a temporary table was dropped and recreated.
      if (changesNames) statements.clear();
      changesNames = false;
      makesTemporary = false;
    } catch {
      isReusable = false;
    }
  }

  async function commit(): Promise<void> {
    if (!inTransaction) return;
    cancellation.check();
    // The transaction ends, whether the commit succeeds or not.
    setInTransaction(false);
    if (makesTemporary) isReusable = false;
    await control("COMMIT").catch((error: unknown) => {
      // Only the checkpoint failed. If that were reported as a failure, the client would repeat the write.
      if (!isDurable(error)) throw error;
      noteDurable(error);
    });
  }

  function noteDurable(error: unknown): void {
    isReusable = false;
    options.onCheckpointFailed(error);
  }

  async function finish(): Promise<void> {
    cancellation.end();
    await rollback();
    if (isReusable) pool.giveBack(connection);
    else pool.discard(connection);
    slots.release(request);
    pause();
  }

  function pause(): void {
    if (holdsSlot) slots.leave(request);
    holdsSlot = false;
  }

  return {
    cancellation,
    prepare,
    execute: (statement) => run(statement, duckdb.execute_prepared),
    executeAndCommit,
    executeThenCommit,
    stream: (statement) => run(statement, duckdb.execute_prepared_streaming),
    async fetch(result) {
      const chunk = await interruptible(native, cancellation, () => duckdb.fetch_chunk(result));
      return chunk === null || duckdb.data_chunk_get_size(chunk) === 0 ? undefined : chunk;
    },
    hasStreamFailed: () =>
      control("SELECT 1").then(
        () => false,
        () => true,
      ),
    begin,
    rollback,
    commit,
    inTransaction: () => inTransaction,
    pause,
    async resume() {
      await slots.reenter(request, cancellation);
      holdsSlot = true;
    },
    end() {
      ending ??= finish();
      return ending;
    },
    hasEnded: () => ending !== undefined,
    lastStatement: () => last,
  };
}
