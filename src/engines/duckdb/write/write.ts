import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../../failure.ts";
import { changedTable, copiesIntoTable, insertedRows } from "../../../sql/classify.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Write } from "../../engine.ts";
import { NOT_WATCHED, type WriteResult } from "../../rows.ts";
import { duckdbDialect } from "../dialect.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { ConflictError, isDuckDbDuplicateKey, isDurable } from "../messages.ts";
import type { Databases } from "../plan/databases.ts";
import type { DataVersions } from "../session/data-versions.ts";
import type { Session } from "../session/session.ts";
import { CHANGES_ROWS } from "../session/statement-kinds.ts";
import { runServerCall } from "./run-server-call.ts";
import { serverCallIn } from "./server-call.ts";
import type { WriteSerializer } from "./write-serializer.ts";

export interface WriteContext {
  readonly session: Session;
  readonly versions: DataVersions;
  readonly serializer: WriteSerializer;
  readonly databases: Databases;
  /** Called when tables, views or macros were created or dropped: all names, or these, may refer to other things now. */
  readonly invalidateNames: (names?: readonly string[]) => void;
}

/** The tables that a write changes, as far as its SQL text shows. */
export type TouchedTables = readonly string[] | "all";

/** Runs the statements, commits, and counts changed rows. Conflicting writes are retried one at a time. */
export async function runWrite(write: Write, context: WriteContext): Promise<WriteResult> {
  const [only, ...others] = write.statements;
  if (only === undefined) throw noStatement();
  const { session, serializer } = context;
  const touched = touchedBy(write.statements);
  const runStatement = statementRunner(session);
  const attempt = (): Promise<StatementResults> => {
    const isAlone = others.length === 0;
    // Rows can be checked only before a separate commit.
    if (isAlone && write.checkRowCount === undefined) {
      return runAlone(only, NOTHING, { ...context, touched, runStatement });
    }
    return write.transaction || isAlone
      ? runTogether(write, { ...context, touched, runStatement })
      : runEach(write.statements, { ...context, runStatement });
  };
  const outcome = await serializer.run(serializationKey(touched), session, attempt);
  await session.end();
  return writeResultOf(outcome, write);
}

export function noStatement(): RequestFailure {
  return new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
}

/** The result of a write. Throws if its rows are not accepted. */
export function writeResultOf(outcome: StatementResults, write: Write): WriteResult {
  const { signal } = write;
  const result = acceptedResult(outcome, write);
  // Rows are returned however long their values are, because the write may already be committed.
  const maxValueBytes = Number.POSITIVE_INFINITY;
  const rows =
    result && heldRows(result, { total: undefined, window: EVERYTHING, signal, watch: NOT_WATCHED, maxValueBytes });
  return { rowsAffected: outcome.affected, rows };
}

function acceptedResult(
  { returned, selected }: StatementResults,
  { returnsData, checkRowCount }: Write,
): duckdb.Result | undefined {
  const result = returnsData ? (returned ?? selected) : undefined;
  if (result !== undefined) checkRowCount?.(duckdb.row_count(result));
  return result;
}

/** The combined results of several statements. */
export interface StatementResults {
  readonly affected: number;
  /** The rows of the last RETURNING. */
  readonly returned: duckdb.Result | undefined;
  /** The rows of the last statement, when it is a query. */
  readonly selected: duckdb.Result | undefined;
}

export const NOTHING: StatementResults = { affected: 0, returned: undefined, selected: undefined };

export type StatementRunner = (
  statement: Statement,
  before: StatementResults,
  execute: (statement: Statement) => Promise<duckdb.Result>,
) => Promise<StatementResults>;

/**
 * Runs one statement that commits by itself: in one call, unless DuckDB could lose its result that way, or other statements
 * have to count its rows.
 */
export async function runAlone(
  statement: Statement,
  before: StatementResults,
  context: WriteContext & { readonly touched: TouchedTables; readonly runStatement: StatementRunner },
): Promise<StatementResults> {
  const { session, databases, touched, runStatement } = context;
  if (serverCallIn(statement.sql) !== undefined) {
    return await commitAndInvalidate(touched, context, async () => {
      await session.begin();
      const outcome = await runStatement(statement, before, session.execute);
      await session.commit();
      return outcome;
    });
  }
  const lossy = databases.mayLoseResult(statement.sql);
  const usesThreeCalls = lossy === true || (lossy !== false && (await lossy));
  const execute = usesThreeCalls ? session.executeThenCommit : session.executeAndCommit;
  return await commitAndInvalidate(touched, context, () => runStatement(statement, before, execute));
}

async function runTogether(
  write: Write,
  context: WriteContext & { readonly touched: TouchedTables; readonly runStatement: StatementRunner },
): Promise<StatementResults> {
  const { session, touched, runStatement } = context;
  await session.begin();
  let outcome = NOTHING;
  for (const statement of write.statements) outcome = await runStatement(statement, outcome, session.execute);
  acceptedResult(outcome, write);
  await commitAndInvalidate(touched, context, () => session.commit());
  return outcome;
}

/** Each statement commits by itself; only the one that conflicts is retried. */
async function runEach(
  statements: readonly Statement[],
  context: WriteContext & { readonly runStatement: StatementRunner },
): Promise<StatementResults> {
  const { session, serializer } = context;
  let outcome = NOTHING;
  for (const statement of statements) {
    const before = outcome;
    const touched = touchedBy([statement]);
    outcome = await serializer.retry(session, () => runAlone(statement, before, { ...context, touched }));
  }
  return outcome;
}

/** Runs a commit. Cached data of the touched tables is invalid from its start on. */
export async function commitAndInvalidate<T>(
  touched: TouchedTables,
  { versions, invalidateNames }: Pick<WriteContext, "versions" | "invalidateNames">,
  commit: () => Promise<T>,
  changesSchema = touched === "all",
): Promise<T> {
  const endWrite = versions.beginWrite(touched, changesSchema);
  try {
    return await commit();
  } finally {
    endWrite();
    if (touched === "all") invalidateNames();
  }
}

const MAX_RACES = 5;
const HANDLES_DUPLICATES = /\bon\s+conflict\b|\binsert\s+or\s+(?:ignore|replace)\b/i;

/**
 * Returns a function that runs a statement and counts the rows that it changes. ON CONFLICT does not see a key that another
 * transaction has just inserted, but the index does: that is a conflict, and a retry sees the key.
 */
export function statementRunner(session: Session): StatementRunner {
  let races = 0;
  return async (statement, before, execute) => {
    const call = serverCallIn(statement.sql);
    if (call !== undefined) {
      const { result, changed } = await runServerCall(call, statement, session);
      return { ...before, affected: before.affected + changed, selected: result };
    }
    try {
      return addResult(await execute(statement), before, statement);
    } catch (error) {
      // It is committed, and the number of its rows is known without a result.
      const inserted = isDurable(error) ? insertedRows(statement.sql, duckdbDialect) : undefined;
      if (inserted !== undefined) return { ...before, affected: before.affected + inserted, selected: undefined };
      if (!isDuckDbDuplicateKey(error) || !HANDLES_DUPLICATES.test(statement.sql) || races++ >= MAX_RACES) throw error;
      throw new ConflictError({ cause: error });
    }
  };
}

function addResult(result: duckdb.Result, before: StatementResults, { sql }: Statement): StatementResults {
  const hasRows = duckdb.result_return_type(result) === duckdb.ResultType.QUERY_RESULT;
  const type = duckdb.result_statement_type(result);
  if (!CHANGES_ROWS.has(type) && !(type === duckdb.StatementType.COPY && copiesIntoTable(sql, duckdbDialect))) {
    return { ...before, selected: hasRows ? result : undefined };
  }
  // A statement with RETURNING reports no change: its rows are those that it changed.
  const changed = hasRows ? duckdb.row_count(result) : duckdb.rows_changed(result);
  return { affected: before.affected + changed, returned: hasRows ? result : before.returned, selected: undefined };
}

export function touchedBy(statements: readonly Statement[]): TouchedTables {
  const tables = new Set<string>();
  for (const { sql } of statements) {
    const changed = changedTable(sql, duckdbDialect);
    if (changed.kind === "unknown") return "all";
    if (changed.kind === "table") tables.add(changed.name);
  }
  return [...tables];
}

export function serializationKey(touched: TouchedTables): string {
  return touched === "all" ? "" : touched.toSorted().join("\0");
}
