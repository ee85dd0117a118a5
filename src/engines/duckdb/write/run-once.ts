import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import { effectsOf } from "../../../sql/classify.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Write } from "../../engine.ts";
import type { WriteOnce, WriteOnceResult, WriteProgress } from "../../write-once.ts";
import { duckdbDialect } from "../dialect.ts";
import { ConflictError, changesTwoDatabases, isDuplicateKey, isForbidden } from "../messages.ts";
import { RECORDS, type RecordTable } from "./record-sql.ts";
import {
  commitAndInvalidate,
  NOTHING,
  noStatement,
  runAlone,
  type StatementResults,
  type StatementRunner,
  serializationKey,
  statementRunner,
  type TouchedTables,
  touchedBy,
  type WriteContext,
  writeResultOf,
} from "./write.ts";
import { addRow, findRows, progressOf, rowId, type WriteRecords } from "./write-records.ts";

export interface WriteOnceContext extends WriteContext {
  readonly records: WriteRecords;
}

/** One write with its record. */
interface RecordedWrite extends WriteOnceContext {
  readonly write: Write;
  readonly once: WriteOnce;
  readonly runStatement: StatementRunner;
  /** Undefined: the record is in memory. */
  readonly table: RecordTable | undefined;
  /** Which of the statements change something. */
  readonly changes: readonly boolean[];
}

/** How far a write has come: its record, and the results of its statements. */
interface WriteState {
  readonly recorded: WriteProgress | undefined;
  readonly outcome: StatementResults;
}

/** Runs a write together with its record, which is looked up in the same transaction. */
export async function runOnce(write: Write, once: WriteOnce, context: WriteOnceContext): Promise<WriteOnceResult> {
  if (write.statements.length === 0) throw noStatement();
  const { session, serializer, records } = context;
  const { store } = once;
  const texts = write.statements.map(({ sql }) => sql);
  const changes = effectsOf(texts, duckdbDialect).map(({ kind }) => kind === "changes");
  const open = async (): Promise<RecordedWrite> => {
    const table = store.kind === "database" ? await records.open(session, once).catch(rejectKey) : undefined;
    return { ...context, write, once, runStatement: statementRunner(session), table, changes };
  };
  const attempt = async (): Promise<WriteOnceResult> => {
    const running = await open();
    return write.transaction ? await runTogether(running) : await runEach(running);
  };
  try {
    return await serializer.run(serializationKey(touchedBy(write.statements)), session, attempt);
  } catch (error) {
    await session.rollback();
    if (store.kind === "database" && errorMessage(error).includes(RECORDS)) records.forget(store.name);
    // The same request at another replica may be the cause, and may be done by now.
    const recorded = isFinal(error)
      ? undefined
      : await open()
          .then(findProgress)
          .catch(() => undefined);
    if (recorded?.done !== "all") throw error;
    return replayedResult(recorded);
  } finally {
    await session.end();
  }
}

/** Whether another replica cannot be the cause. */
function isFinal(error: unknown): boolean {
  return error instanceof RequestFailure && error.failure.kind !== "conflict";
}

/** Rejects the key if the user may not write records, or the database cannot hold them. */
function rejectKey(error: unknown): never {
  if (isForbidden(error) || changesTwoDatabases(error))
    throw new RequestFailure({ kind: "key-refused" }, { cause: error });
  throw error;
}

function replayedResult({ response = "", rowsAffected }: WriteProgress): WriteOnceResult {
  return { response, rowsAffected, ran: false };
}

function ranResult({ response = "", rowsAffected }: WriteProgress): WriteOnceResult {
  return { response, rowsAffected, ran: true };
}

/** Runs all statements and adds the record in one transaction. */
async function runTogether(running: RecordedWrite): Promise<WriteOnceResult> {
  const { session, write, runStatement } = running;
  await session.begin();
  const recorded = await findProgress(running);
  if (recorded?.done === "all") return replayedResult(recorded);
  let outcome = NOTHING;
  for (const statement of write.statements) outcome = await runStatement(statement, outcome, session.execute);
  const touched = touchedBy(write.statements);
  return ranResult(await recordAndCommit(running, { recorded: undefined, outcome }, { done: "all", touched }));
}

/** Runs each statement that changes something in its own transaction, with a record of how far the write has come. */
async function runEach(running: RecordedWrite): Promise<WriteOnceResult> {
  const { session, serializer, write, changes } = running;
  const recorded = await findProgress(running);
  if (recorded?.done === "all") return replayedResult(recorded);
  let state: WriteState = stateAfter(recorded);
  let step = 0;
  for (const [index, statement] of write.statements.entries()) {
    const before = state;
    if (changes[index] !== true) {
      const alone = { ...running, touched: touchedBy([statement]) };
      state = { ...before, outcome: await serializer.retry(session, () => runAlone(statement, before.outcome, alone)) };
      continue;
    }
    step++;
    if (includes(before.recorded, step)) continue;
    const done = index === write.statements.length - 1 ? "all" : step;
    state = await serializer.retry(session, () => takeStep(running, before, { statement, done }));
  }
  const before = state;
  // Trailing queries have run by now: the response is known.
  if (!includes(state.recorded, "all"))
    state = await serializer.retry(session, () => takeStep(running, before, { done: "all" }));
  if (state.recorded === undefined) throw new Error("a write that has run has a record");
  return ranResult(state.recorded);
}

/** The state after what an earlier request or another replica has done. */
function stateAfter(recorded: WriteProgress | undefined): WriteState {
  return { recorded, outcome: { ...NOTHING, affected: recorded?.rowsAffected ?? 0 } };
}

function includes(recorded: WriteProgress | undefined, step: number | "all"): boolean {
  if (recorded === undefined) return false;
  return recorded.done === "all" || (step !== "all" && recorded.done >= step);
}

interface Step {
  readonly statement?: Statement;
  readonly done: WriteProgress["done"];
}

async function takeStep(running: RecordedWrite, before: WriteState, { statement, done }: Step): Promise<WriteState> {
  const { session, runStatement } = running;
  await session.begin();
  const recorded = await findProgress(running);
  if (includes(recorded, done)) {
    await session.rollback();
    return stateAfter(recorded);
  }
  const outcome =
    statement === undefined ? before.outcome : await runStatement(statement, before.outcome, session.execute);
  const touched = statement === undefined ? [] : touchedBy([statement]);
  return { recorded: await recordAndCommit(running, { recorded, outcome }, { done, touched }), outcome };
}

/** The recorded progress of the write. Throws if the key belongs to another request. */
async function findProgress({
  session,
  once,
  table,
  write,
  changes,
}: RecordedWrite): Promise<WriteProgress | undefined> {
  const steps = write.transaction ? 0 : changes.filter(Boolean).length;
  const recorded =
    table === undefined ? once.memory.get() : progressOf(await findRows(session, table, { once, steps }), once);
  if (recorded !== undefined && recorded.request !== once.request) throw new RequestFailure({ kind: "key-reused" });
  return recorded;
}

/** Records how far the write has come, and commits the record with the changes. */
async function recordAndCommit(
  running: RecordedWrite,
  { recorded, outcome }: WriteState,
  { done, touched }: { readonly done: WriteProgress["done"]; readonly touched: TouchedTables },
): Promise<WriteProgress> {
  const { session, once, table } = running;
  const response = await responseOf(running, { recorded, outcome }, done);
  const progress: WriteProgress = { request: once.request, done, rowsAffected: outcome.affected, response };
  if (table !== undefined) {
    const id = rowId(once, done === "all" ? 0 : done);
    const row = { id, request: once.request, changed: outcome.affected, response, since: once.now };
    await addRow(session, table, row).catch((error: unknown) => {
      // Another replica has recorded the same request: a retry finds its record.
      if (isDuplicateKey(error)) throw new ConflictError({ cause: error });
      return rejectKey(error);
    });
  }
  const all: TouchedTables = touched === "all" || table === undefined ? touched : [...touched, RECORDS];
  await commitAndInvalidate(all, running, () => session.commit());
  if (table === undefined) once.memory.set(progress);
  return progress;
}

/** The response. Before the write is done, only if there are rows to keep for it. */
async function responseOf(
  { write, once }: RecordedWrite,
  { recorded, outcome }: WriteState,
  done: WriteProgress["done"],
): Promise<string | undefined> {
  const earlier = outcome.returned === undefined ? recorded?.response : undefined;
  // The rows of the last RETURNING count, even when an earlier request ran it.
  const shown = earlier === undefined ? outcome : { ...outcome, selected: undefined };
  if (done === "all") return await once.encode(writeResultOf(shown, write), earlier);
  if (outcome.returned === undefined || !write.returnsData) return earlier;
  return await once.encode(writeResultOf(outcome, write), undefined);
}
