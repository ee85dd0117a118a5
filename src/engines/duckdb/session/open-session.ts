import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Statement } from "../../../sql/statement.ts";
import { isDurable } from "../messages.ts";
import { bindValues, hasLongValues, type ParameterType, parameterTypes } from "./bind-values.ts";
import { type Cancellation, interruptible, interruptUnlessDone } from "./cancellation.ts";
import { closeStream, hasRows } from "./close-stream.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { prepareParts } from "./prepare-parts.ts";
import type { Session } from "./session.ts";
import type { SlotRequest, Slots } from "./slots.ts";
import { CHANGES_NAMES, CHANGES_ROWS, LEAVES_NOTHING, MAKES_TEMPORARY, RUNS_ONCE } from "./statement-kinds.ts";

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
  /** A stream that has not been read to its end. */
  let openStream: duckdb.Result | undefined;
  /** Prepared statements that are not cached. */
  const uncached: duckdb.PreparedStatement[] = [];

  async function prepare(sql: string): Promise<duckdb.PreparedStatement> {
    const known = statements.get(sql);
    if (known !== undefined && isPlanCurrent(known)) return known;
    statements.delete(sql);
    const moment = pool.versions.now();
    try {
      const statement = await interruptible(native, cancellation, () => duckdb.prepare(native, sql));
      if (RUNS_ONCE.test(sql)) uncached.push(statement);
      else statements.set(sql, statement);
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

  async function prepareExpanded(sql: string): Promise<duckdb.PreparedStatement> {
    await begin();
    changesNames = true;
    makesTemporary = true;
    return await prepareParts(native, sql, {
      runPart: (part) => interruptible(native, cancellation, () => duckdb.execute_prepared(part)),
      onPrepared: (part) => uncached.push(part),
    });
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
    execute: typeof duckdb.execute_prepared | typeof duckdb.execute_prepared_streaming,
  ): Promise<duckdb.Result> {
    last = statement;
    for (let tries = 1; ; tries++) {
      const prepared = await prepare(statement.sql);
      const isSelect = duckdb.prepared_statement_type(prepared) === duckdb.StatementType.SELECT;
      const repeatable = isSelect && execute === duckdb.execute_prepared;
      // A statement that changes data cannot run twice, nor can a stream: it is planned in the transaction in which it runs.
      if (!repeatable && inTransaction && plannedAt.has(prepared) && !plannedInside.has(prepared)) {
        statements.delete(statement.sql);
        continue;
      }
      const result = await runPrepared(prepared, statement, execute);
      if (!isSelect && inTransaction) {
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
            noteIfDurable(error);
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
      if (!noteIfDurable(error)) throw error;
    });
  }

  /** Returns whether the commit is durable despite this error. */
  function noteIfDurable(error: unknown): boolean {
    if (!isDurable(error)) return false;
    isReusable = false;
    options.onCheckpointFailed(error);
    return true;
  }

  async function finish(): Promise<void> {
    cancellation.end();
    if (openStream !== undefined) await closeStream(native, openStream);
    await rollback();
    for (const statement of uncached) duckdb.destroy_prepare_sync(statement);
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
    async stream(statement) {
      openStream = await run(statement, duckdb.execute_prepared_streaming);
      return openStream;
    },
    async fetch(result) {
      const chunk = await interruptible(native, cancellation, () => duckdb.fetch_chunk(result));
      if (!hasRows(chunk)) openStream = undefined;
      return hasRows(chunk) ? chunk : undefined;
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
