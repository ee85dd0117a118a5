import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../failure.ts";
import { changedTable, copiesIntoTable } from "../../sql/classify.ts";
import type { Statement } from "../../sql/statement.ts";
import { NOT_WATCHED, type Write, type Written } from "../engine.ts";
import type { DataVersions } from "./data-versions.ts";
import { duckdbDialect } from "./dialect.ts";
import { EVERYTHING, heldRows } from "./held-rows.ts";
import { ConflictError, isDuplicateKey, isOfTwoDatabases } from "./messages.ts";
import { CHANGES_ROWS, type Session } from "./session.ts";
import type { WriteLanes } from "./write-lanes.ts";

export interface Writing {
  readonly session: Session;
  readonly versions: DataVersions;
  readonly lanes: WriteLanes;
  /** Tables, views or macros were made or went: all names, or these, may mean other things now. */
  readonly namesChanged: (names?: readonly string[]) => void;
}

/** What of the catalog a write touches: it is known by its words which table each statement changes. */
type Touched = readonly string[] | "all";

/** Runs the statements, commits, and counts. What conflicts with others is tried again, one at a time. */
export async function runWrite(write: Write, writing: Writing): Promise<Written> {
  const [only, ...others] = write.statements;
  if (only === undefined) {
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  }
  const { session, lanes } = writing;
  const touched = touchedBy(write.statements);
  const counted = statementRunner();
  const isAlone = others.length === 0 && write.record === undefined;
  const attempt = (): Promise<Outcome> => {
    if (isAlone) return committed(touched, writing, () => counted(only, NOTHING, session.executeAndCommit));
    if (write.transaction) return runTogether(write, { ...writing, touched, counted });
    return recordedAfter(write, writing, () => runEach(write.statements, { ...writing, counted }));
  };
  const outcome = await lanes.run(laneOf(touched), session, attempt);
  await session.end();
  return writtenOf(outcome, write);
}

function writtenOf({ affected, returned, selected }: Outcome, { returnsData, signal }: Write): Written {
  const result = returnsData ? (returned ?? selected) : undefined;
  const rows = result && heldRows(result, { total: undefined, window: EVERYTHING, signal, watch: NOT_WATCHED });
  return { rowsAffected: affected, rows };
}

interface Outcome {
  readonly affected: number;
  /** The rows of the last RETURNING. */
  readonly returned: duckdb.Result | undefined;
  /** The rows of the last statement, when it is a query. */
  readonly selected: duckdb.Result | undefined;
}

const NOTHING: Outcome = { affected: 0, returned: undefined, selected: undefined };

type Counted = (
  statement: Statement,
  before: Outcome,
  execute: (statement: Statement) => Promise<duckdb.Result>,
) => Promise<Outcome>;

async function runTogether(
  write: Write,
  writing: Writing & { readonly touched: Touched; readonly counted: Counted },
): Promise<Outcome> {
  const { session, touched, counted } = writing;
  const { statements, record } = write;
  await session.begin();
  let outcome = NOTHING;
  for (const statement of statements) outcome = await counted(statement, outcome, session.execute);
  try {
    if (record !== undefined) await session.execute(await record(writtenOf(outcome, write)));
  } catch (error) {
    if (!isOfTwoDatabases(error)) throw error;
    await session.rollback();
    return await recordedAfter(write, writing, () => runTogether({ ...write, record: undefined }, writing));
  }
  await committed(touched, writing, () => session.commit());
  return outcome;
}

/** A transaction can change one database only: what is recorded in another follows in its own. */
async function recordedAfter(write: Write, { session, lanes }: Writing, run: () => Promise<Outcome>): Promise<Outcome> {
  const outcome = await run();
  const { record } = write;
  if (record === undefined) return outcome;
  const statement = await record(writtenOf(outcome, write));
  // The change is durable. Whatever happens to its record, it must neither be told as failed nor be run again.
  await lanes.retry(session, () => session.execute(statement)).catch(() => {});
  return outcome;
}

/** Each commits by itself, and what conflicts is tried again alone: those before it are done. */
async function runEach(
  statements: readonly Statement[],
  writing: Writing & { readonly counted: Counted },
): Promise<Outcome> {
  const { session, lanes, counted } = writing;
  let outcome = NOTHING;
  for (const statement of statements) {
    const before = outcome;
    outcome = await lanes.retry(session, () =>
      committed(touchedBy([statement]), writing, () => counted(statement, before, session.executeAndCommit)),
    );
  }
  return outcome;
}

/** While a commit is under way nobody trusts what is remembered of its tables; afterwards it is forgotten. */
export async function committed<T>(
  touched: Touched,
  { versions, namesChanged }: Writing,
  commit: () => Promise<T>,
): Promise<T> {
  const written = versions.writing(touched);
  try {
    return await commit();
  } finally {
    written();
    if (touched === "all") namesChanged();
  }
}

const MOST_RACES = 5;
const HANDLES_DUPLICATES = /\bon\s+conflict\b|\binsert\s+or\s+(?:ignore|replace)\b/i;

/**
 * Runs statements and counts what they change. A key that somebody else has just inserted is not seen yet by ON CONFLICT, but
 * by the index: that is a conflict, and tried again it is seen.
 */
function statementRunner(): Counted {
  let races = 0;
  return async (statement, before, execute) => {
    try {
      return outcomeOf(await execute(statement), before, statement);
    } catch (error) {
      if (!isDuplicateKey(error) || !HANDLES_DUPLICATES.test(statement.sql) || races++ >= MOST_RACES) throw error;
      throw new ConflictError({ cause: error });
    }
  };
}

function outcomeOf(result: duckdb.Result, before: Outcome, { sql }: Statement): Outcome {
  const hasRows = duckdb.result_return_type(result) === duckdb.ResultType.QUERY_RESULT;
  const type = duckdb.result_statement_type(result);
  if (!CHANGES_ROWS.has(type) && !(type === duckdb.StatementType.COPY && copiesIntoTable(sql, duckdbDialect))) {
    return { ...before, selected: hasRows ? result : undefined };
  }
  // A statement with RETURNING reports no change: its rows are those that it changed.
  const changed = hasRows ? duckdb.row_count(result) : duckdb.rows_changed(result);
  return { affected: before.affected + changed, returned: hasRows ? result : before.returned, selected: undefined };
}

function touchedBy(statements: readonly Statement[]): Touched {
  const tables = new Set<string>();
  for (const { sql } of statements) {
    const changed = changedTable(sql, duckdbDialect);
    if (changed.kind === "unknown") return "all";
    if (changed.kind === "table") tables.add(changed.name);
  }
  return [...tables];
}

function laneOf(touched: Touched): string {
  return touched === "all" ? "" : touched.toSorted().join("\0");
}
