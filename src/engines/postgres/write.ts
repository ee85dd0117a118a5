import { RequestFailure } from "../../failure.ts";
import type { Chunk } from "../../result/chunk.ts";
import { effectsOf } from "../../sql/classify.ts";
import type { Statement } from "../../sql/statement.ts";
import type { Write } from "../engine.ts";
import { waitUnlessCancelled } from "../queue/cancellation.ts";
import { NOT_WATCHED, type Rows, type WriteResult } from "../rows.ts";
import { postgresDialect } from "./dialect.ts";
import { isConflict } from "./failures.ts";
import type { Prepared } from "./prepared.ts";
import { collectRows } from "./row-collector.ts";
import type { Session, Step } from "./session.ts";
import { EVERYTHING } from "./window.ts";

export interface WriteContext {
  readonly session: Session;
  /** Commands at the start of each transaction. */
  readonly preamble: readonly Step[];
  /** Whether the session is read-only outside transactions that say otherwise. */
  readonly keepsSessions: boolean;
  readonly isReadOnly: boolean;
}

/** The rows of one statement. */
interface Returned {
  readonly prepared: Prepared;
  readonly chunks: readonly Chunk[];
  readonly rows: number;
}

/** The combined results of several statements. */
export interface StatementResults {
  readonly affected: number;
  /** The rows of the last statement that changed something and returned rows. */
  readonly returned: Returned | undefined;
  /** The rows of the last statement, when it is a query. */
  readonly selected: Returned | undefined;
}

export const NOTHING: StatementResults = { affected: 0, returned: undefined, selected: undefined };

const COMMIT: Step = { run: "COMMIT" };
const CHANGED = /^(?:INSERT \d+|UPDATE|DELETE|MERGE|COPY) (\d+)$/;
const MAX_TRIES = 20;
const MAX_PAUSE_MS = 50;

/** Runs a write and commits it. The caller ends the session. */
export async function runWrite(write: Write, context: WriteContext): Promise<WriteResult> {
  const { session } = context;
  const [only, ...others] = write.statements;
  if (only === undefined)
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  if (!write.transaction && others.length > 0) return resultOf(await runEach(write.statements, context), write);
  if (!write.transaction && context.preamble.length === 0) return resultOf(await runOutside([only], context), write);
  const results = await retryConflicts(session, async () => {
    // Rows can be checked only before a separate commit.
    if (others.length === 0 && write.checkRowCount === undefined) return await runAlone(only, context);
    await session.run(beginSteps(context));
    const done = await runStatements(write.statements, NOTHING, session);
    accepted(done, write);
    await session.run([COMMIT]);
    return done;
  });
  return resultOf(results, write);
}

export function beginSteps({ isReadOnly, preamble }: WriteContext): readonly Step[] {
  return [{ run: isReadOnly ? "BEGIN READ ONLY" : "BEGIN READ WRITE" }, ...preamble];
}

/** One statement, in one round trip with its transaction. */
async function runAlone(statement: Statement, context: WriteContext): Promise<StatementResults> {
  const { session, keepsSessions } = context;
  const before = keepsSessions ? [] : beginSteps(context);
  if (before.length > 0) await session.run(before);
  const running = collectResult(await session.prepare(statement), NOTHING);
  await session.run([...(before.length > 0 ? [] : beginSteps(context)), running.step, COMMIT]);
  return running.results();
}

/** Each statement is prepared after those before it have run, because it may need their tables. */
export async function runStatements(
  statements: readonly Statement[],
  before: StatementResults,
  session: Session,
): Promise<StatementResults> {
  let results = before;
  for (const statement of statements) {
    const running = collectResult(await session.prepare(statement), results);
    await session.run([running.step]);
    results = running.results();
  }
  return results;
}

/** Each statement commits by itself; only the one that conflicts is retried. */
async function runEach(statements: readonly Statement[], context: WriteContext): Promise<StatementResults> {
  const { session, preamble } = context;
  if (preamble.length === 0) return await runOutside(statements, context);
  let results = NOTHING;
  for (const statement of statements) {
    const before = results;
    results = await retryConflicts(session, async () => {
      await session.run(beginSteps(context));
      const done = await runStatements([statement], before, session);
      await session.run([COMMIT]);
      return done;
    });
  }
  return results;
}

const ALLOW_WRITES: Step = { run: "SET default_transaction_read_only = off" };
const FORBID_WRITES: Step = { run: "SET default_transaction_read_only = on" };

/** Runs statements outside a transaction of Eider's own: some, such as VACUUM, accept none. */
async function runOutside(statements: readonly Statement[], context: WriteContext): Promise<StatementResults> {
  const { session, keepsSessions, isReadOnly } = context;
  const isSwitched = keepsSessions && !isReadOnly;
  let results = NOTHING;
  try {
    if (isSwitched) await session.run([ALLOW_WRITES]);
    for (const statement of statements) {
      const before = results;
      results = await retryConflicts(session, () => runStatements([statement], before, session));
    }
  } catch (error) {
    // The next user of the connection must not write by accident.
    if (isSwitched) session.discard();
    throw error;
  }
  if (isSwitched) await session.run([FORBID_WRITES]);
  return results;
}

/** Retries work whose transaction another one kept from committing. */
export async function retryConflicts<T>(session: Session, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      await session.rollback();
    }
    const pause = Math.random() * Math.min(MAX_PAUSE_MS, tries * 5);
    await waitUnlessCancelled(session.cancellation, new Promise<void>((resolve) => setTimeout(resolve, pause)));
  }
}

/** A step that runs a statement, and the results after it. */
function collectResult(
  prepared: Prepared,
  before: StatementResults,
): { readonly step: Step; readonly results: () => StatementResults } {
  const chunks: Chunk[] = [];
  // Rows are returned however long their values are, because the write may already be committed.
  const maxValueBytes = Number.POSITIVE_INFINITY;
  const collector = collectRows(prepared, {
    window: EVERYTHING,
    maxValueBytes,
    onChunk: (chunk) => void chunks.push(chunk),
  });
  let tag: string | undefined;
  const step: Step = {
    run: prepared,
    onRow: collector.row,
    onComplete(completed) {
      tag = completed;
    },
  };
  const results = (): StatementResults => {
    collector.flush();
    const rows = collector.count();
    const found = prepared.columns.length === 0 ? undefined : { prepared, chunks, rows };
    const [, changed] = CHANGED.exec(tag ?? "") ?? [];
    if (changed !== undefined)
      return { affected: before.affected + Number(changed), returned: found ?? before.returned, selected: undefined };
    // `WITH x AS (DELETE ... RETURNING ...) SELECT ...` reports only the rows of its SELECT.
    const changes = effectsOf([prepared.statement.sql], postgresDialect).some(({ kind }) => kind === "changes");
    if (changes && found !== undefined)
      return { affected: before.affected + rows, returned: found, selected: undefined };
    return { ...before, selected: found };
  };
  return { step, results };
}

/** The rows that a write returns. Throws if they are not accepted. */
export function accepted(
  { returned, selected }: StatementResults,
  { returnsData, checkRowCount }: Write,
): Returned | undefined {
  const found = returnsData ? (returned ?? selected) : undefined;
  if (found !== undefined) checkRowCount?.(found.rows);
  return found;
}

export function resultOf(results: StatementResults, write: Write): WriteResult {
  const found = accepted(results, write);
  return { rowsAffected: results.affected, rows: found && rowsOf(found) };
}

function rowsOf({ prepared, chunks }: Returned): Rows {
  const left = [...chunks];
  return {
    columns: prepared.columns,
    total: undefined,
    watch: NOT_WATCHED,
    next: () => left.shift(),
    close() {
      left.length = 0;
    },
  };
}
