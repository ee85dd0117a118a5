import duckdb from "@duckdb/node-bindings";
import type { Eventually } from "../../../eventually.ts";
import type { Column } from "../../../result/column.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { SlotRequest } from "../../queue/queue-groups.ts";
import type { Slots } from "../../queue/slots.ts";
import { resultColumns } from "../load/logical-type.ts";
import { isDurable, isOutOfMemory } from "../messages.ts";
import { appendRows } from "../write/append-rows.ts";
import { bindValues, hasLongValues } from "./bind-values.ts";
import { closeStream, hasRows } from "./close-stream.ts";
import type { ConnectionPool, PooledConnection } from "./connection-pool.ts";
import { interruptible, interruptOnCancel } from "./interrupt.ts";
import { factsOf, openPreparer } from "./prepare.ts";
import type { Session } from "./session.ts";
import { openTransaction, type TransactionOptions } from "./transaction.ts";

const MAX_PLANS = 3;
const WATCH_EVERY_MS = 20;

type Execute = (statement: duckdb.PreparedStatement) => Promise<duckdb.Result>;

export interface SessionOptions extends TransactionOptions {
  readonly pool: ConnectionPool;
  readonly slots: Slots;
  readonly request: SlotRequest;
  /** Every query is planned in the transaction in which it runs. */
  readonly plansInTransaction?: boolean | undefined;
  /** Called with the error when a statement or a commit fails. */
  readonly recoverFrom?: ((error: unknown) => Promise<void>) | undefined;
  /** Called when the connection is free again. */
  readonly onReleased?: (() => void) | undefined;
}

/** The caller has taken a slot; the session releases it, and ends the cancellation. */
export function openSession(options: SessionOptions): Eventually<Session> {
  const { pool, slots, request } = options;
  const taken = pool.take();
  if (!(taken instanceof Promise)) return sessionOver(taken, options);
  return taken.then(
    (connection) => sessionOver(connection, options),
    (error: unknown) => {
      slots.release(request);
      slots.leave(request);
      throw error;
    },
  );
}

function sessionOver(connection: PooledConnection, options: SessionOptions): Session {
  const { pool, slots, request, cancellation, plansInTransaction, recoverFrom, onReleased } = options;
  const { native, statements } = connection;
  const transaction = openTransaction(connection, options);
  const { prepare, isPlanCurrent, destroyUncached } = openPreparer(connection, {
    transaction,
    versions: pool.versions,
    cancellation,
  });
  let holdsSlot = true;
  let hasEnded = false;
  let ending: Eventually<void>;
  let last: Statement | undefined;
  /** The prepared statement that ran last, and the moment before. */
  let lastPrepared: duckdb.PreparedStatement | undefined;
  let lastMoment = 0;
  /** A stream that has not been read to its end. */
  let openStream: duckdb.Result | undefined;

  function run(statement: Statement, execute: Execute): Promise<duckdb.Result> {
    last = statement;
    const known = statements.get(statement.sql);
    const facts = known && factsOf(known);
    // DuckDB plans a query with parameters at each execution, so its plan is always current.
    if (known !== undefined && facts?.isSelect === true && facts.plannedAt === undefined) {
      return runPrepared(known, statement, execute);
    }
    return runCurrentPlan(statement, execute);
  }

  async function runCurrentPlan(statement: Statement, execute: Execute): Promise<duckdb.Result> {
    for (let tries = 1; ; tries++) {
      const prepared = await prepare(statement.sql);
      const facts = factsOf(prepared);
      const isSelect = facts?.isSelect ?? duckdb.prepared_statement_type(prepared) === duckdb.StatementType.SELECT;
      const repeatable = isSelect && execute === duckdb.execute_prepared;
      const isPlannedOutside = facts?.plannedAt !== undefined && !transaction.isPlannedInside(prepared);
      if (isPlannedOutside && isSelect && plansInTransaction) await transaction.begin();
      // A statement that changes data cannot run twice, nor can a stream: it is planned in the transaction in which it runs.
      if (isPlannedOutside && transaction.isOpen() && (!repeatable || plansInTransaction)) {
        statements.delete(statement.sql);
        continue;
      }
      const result = await runPrepared(prepared, statement, execute);
      if (!isSelect && transaction.isOpen()) transaction.noteWritten();
      if (!repeatable || isPlanCurrent(prepared)) return result;
      // A write came between planning and execution. If that happens repeatedly, both run in one transaction.
      if (tries === MAX_PLANS) await transaction.begin();
    }
  }

  async function runPrepared(
    prepared: duckdb.PreparedStatement,
    { sql, values }: Statement,
    execute: Execute,
    checkResult: () => void = cancellation.check,
  ): Promise<duckdb.Result> {
    const stopInterrupting = interruptOnCancel(native, cancellation);
    lastPrepared = prepared;
    lastMoment = pool.versions.now();
    try {
      bindValues(prepared, values, factsOf(prepared)?.parameterTypes);
      const result = await execute(prepared);
      checkResult();
      // A cached statement keeps the values that were bound last.
      if (hasLongValues(values)) statements.delete(sql);
      return result;
    } catch (error) {
      statements.delete(sql);
      await recoverFrom?.(error);
      if (!isDurable(error)) cancellation.check();
      throw error;
    } finally {
      stopInterrupting();
    }
  }

  function columnsOf(result: duckdb.Result, hasOwnTables: boolean): readonly Column[] {
    const facts = lastPrepared && factsOf(lastPrepared);
    if (!hasOwnTables || facts === undefined) return resultColumns(result);
    const { columns } = facts;
    if (columns !== undefined && pool.versions.schemaUnchangedSince(columns.moment)) return columns.list;
    const list = resultColumns(result);
    facts.columns = { list, moment: lastMoment };
    return list;
  }

  async function executeWhile(statement: Statement, mayContinue: () => boolean): Promise<duckdb.Result | undefined> {
    let isInterrupted = false;
    const watch = setInterval(() => {
      isInterrupted ||= !mayContinue();
      // DuckDB forgets an interrupt that arrives too early, so it is repeated.
      if (isInterrupted) duckdb.interrupt(native);
    }, WATCH_EVERY_MS);
    try {
      return await run(statement, duckdb.execute_prepared);
    } catch (error) {
      cancellation.check();
      if (!isInterrupted && !isOutOfMemory(error)) throw error;
      // It has ended the transaction, if one was needed for a current plan.
      await transaction.rollback();
      return undefined;
    } finally {
      clearInterval(watch);
    }
  }

  async function executeAndCommit(statement: Statement): Promise<duckdb.Result> {
    last = statement;
    if (statement.values.length > 0) {
      const prepared = await prepare(statement.sql);
      if (!transaction.isOpen()) {
        // If it finished before an interrupt, its result counts: it cannot be undone.
        return await runPrepared(prepared, statement, duckdb.execute_prepared, () => {}).catch((error: unknown) => {
          if (isDurable(error)) transaction.noteDurable(error);
          throw error;
        });
      }
    }
    return await executeThenCommit(statement);
  }

  async function executeThenCommit(statement: Statement): Promise<duckdb.Result> {
    // An earlier plan may not match the data of the transaction.
    await transaction.begin();
    const result = await run(statement, duckdb.execute_prepared);
    await commit();
    return result;
  }

  function commit(): Promise<void> {
    const committed = transaction.commit();
    if (recoverFrom === undefined) return committed;
    return committed.catch(async (error: unknown) => {
      await recoverFrom(error);
      throw error;
    });
  }

  function finish(): Eventually<void> {
    cancellation.end();
    return transaction.isOpen() ? endTransaction().then(release) : release();
  }

  async function endTransaction(): Promise<void> {
    if (openStream !== undefined) await closeStream(native, openStream);
    await transaction.rollback();
  }

  function release(): void {
    destroyUncached();
    if (transaction.leavesNothing()) pool.giveBack(connection);
    else pool.discard(connection);
    slots.release(request);
    pause();
    onReleased?.();
  }

  function pause(): void {
    if (holdsSlot) slots.leave(request);
    holdsSlot = false;
  }

  return {
    cancellation,
    prepare,
    execute(statement, original = statement) {
      const running = run(statement, duckdb.execute_prepared);
      last = original;
      return running;
    },
    executeWhile,
    columnsOf,
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
    hasStreamFailed: transaction.hasStreamFailed,
    begin: transaction.begin,
    rollback: transaction.rollback,
    commit,
    inTransaction: transaction.isOpen,
    pause,
    async resume() {
      await slots.reenter(request, cancellation);
      holdsSlot = true;
    },
    end() {
      if (!hasEnded) {
        hasEnded = true;
        ending = finish();
      }
      return ending;
    },
    append: (table, rows) => appendRows(native, table, rows),
    hasEnded: () => hasEnded,
    lastStatement: () => last,
  };
}
