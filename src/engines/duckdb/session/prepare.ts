import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Eventually } from "../../../eventually.ts";
import type { Column } from "../../../result/column.ts";
import type { Cancellation } from "../../queue/cancellation.ts";
import { type ParameterType, parameterTypes } from "./bind-values.ts";
import type { PooledConnection } from "./connection-pool.ts";
import type { DataVersions } from "./data-versions.ts";
import { interruptible } from "./interrupt.ts";
import { prepareParts } from "./prepare-parts.ts";
import { CHANGES_ROWS, RUNS_ONCE } from "./statement-kinds.ts";
import type { Transaction } from "./transaction.ts";

/** What is known about a prepared statement. */
export interface PreparedFacts {
  readonly isSelect: boolean;
  /** The data version at which it was planned. Undefined if it has parameters: DuckDB then plans it at each execution. */
  readonly plannedAt: number | undefined;
  /** Only for statements that change rows. */
  readonly parameterTypes: readonly ParameterType[] | undefined;
  /** The columns of its result, and a moment before it ran. */
  columns: { readonly list: readonly Column[]; readonly moment: number } | undefined;
}

const facts = new WeakMap<duckdb.PreparedStatement, PreparedFacts>();

/** Undefined for a statement that runs only once. */
export function factsOf(statement: duckdb.PreparedStatement): PreparedFacts | undefined {
  return facts.get(statement);
}

/** Prepares the statements of a session. */
export interface Preparer {
  prepare(sql: string): Eventually<duckdb.PreparedStatement>;
  /**
   * Whether the plan of a statement matches the data. DuckDB replans a statement with parameters at each execution, and keeps
   * the plan of one without. Such a plan depends on the column statistics at that time, and may miss later rows.
   */
  isPlanCurrent(statement: duckdb.PreparedStatement): boolean;
  /** Destroys the statements that the connection does not cache. */
  destroyUncached(): void;
}

export interface PreparerOptions {
  readonly transaction: Transaction;
  readonly versions: DataVersions;
  readonly cancellation: Cancellation;
}

export function openPreparer(
  { native, statements }: PooledConnection,
  { transaction, versions, cancellation }: PreparerOptions,
): Preparer {
  const uncached: duckdb.PreparedStatement[] = [];

  async function prepareNew(sql: string): Promise<duckdb.PreparedStatement> {
    const moment = versions.now();
    try {
      const statement = await interruptible(native, cancellation, () => duckdb.prepare(native, sql));
      if (RUNS_ONCE.test(sql)) uncached.push(statement);
      else statements.set(sql, statement);
      const type = duckdb.prepared_statement_type(statement);
      facts.set(statement, {
        isSelect: type === duckdb.StatementType.SELECT,
        plannedAt: duckdb.nparams(statement) === 0 ? moment : undefined,
        parameterTypes: CHANGES_ROWS.has(type) ? parameterTypes(statement) : undefined,
        columns: undefined,
      });
      transaction.notePrepared(statement, type, sql);
      return statement;
    } catch (error) {
      if (!errorMessage(error).includes("Cannot prepare multiple statements")) throw error;
      return await prepareExpanded(sql);
    }
  }

  async function prepareExpanded(sql: string): Promise<duckdb.PreparedStatement> {
    await transaction.begin();
    transaction.noteTemporary();
    return await prepareParts(native, sql, {
      runPart: (part) => interruptible(native, cancellation, () => duckdb.execute_prepared(part)),
      onPrepared: (part) => uncached.push(part),
    });
  }

  function isPlanCurrent(statement: duckdb.PreparedStatement): boolean {
    const moment = factsOf(statement)?.plannedAt;
    if (moment === undefined || transaction.isPlannedInside(statement)) return true;
    return !transaction.hasWritten() && versions.quietSince(moment);
  }

  return {
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined && isPlanCurrent(known)) return known;
      statements.delete(sql);
      return prepareNew(sql);
    },
    isPlanCurrent,
    destroyUncached() {
      for (const statement of uncached.splice(0)) duckdb.destroy_prepare_sync(statement);
    },
  };
}
