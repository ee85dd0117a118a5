import duckdb from "@duckdb/node-bindings";
import type { RequestFailure } from "../../failure.ts";
import type { Statement } from "../../sql/statement.ts";
import type { Change, TextRows } from "../engine.ts";
import { textRows } from "./inspect.ts";
import { isConflict, messageOf } from "./messages.ts";
import { committed, type Writing } from "./write.ts";

export interface Changing extends Writing {
  /** What an error of the database means to the caller. */
  readonly failureOf: (error: unknown) => RequestFailure;
}

/** How it went: gives the value of `work`, or throws what `work` threw. */
export type Settled<T> = () => T;

/** Our own bookkeeping, step by step in one transaction. Rejects with what the database says. */
export async function runChange<T>(
  { touches }: Change,
  work: (run: (statement: Statement) => Promise<TextRows>) => Promise<T>,
  changing: Changing,
): Promise<Settled<T>> {
  const { session, lanes } = changing;
  const names = touches.map((name) => name.toLowerCase());
  const settled = await lanes.run(`\0${names.toSorted().join("\0")}`, session, async () => {
    await session.begin();
    const steps = stepsIn(changing);
    const done = await settle(() => work(steps.run));
    const conflict = steps.conflict();
    if (conflict !== undefined) throw conflict;
    if (done.kind === "value") await commit(names, changing);
    return done;
  });
  await session.end();
  return () => {
    if (settled.kind === "value") return settled.value;
    throw settled.error;
  };
}

type Ending<T> = { readonly kind: "value"; readonly value: T } | { readonly kind: "error"; readonly error: unknown };

async function settle<T>(work: () => Promise<T>): Promise<Ending<T>> {
  try {
    return { kind: "value", value: await work() };
  } catch (error) {
    return { kind: "error", error };
  }
}

/** A commit that could not be written down, as on a full disk. Another try would do all the work again, and as much in vain. */
const NOT_WRITTEN = /^TransactionContext Error: Failed to commit: (?:IO Error|Could not|Cannot|Failed)/i;

async function commit(names: readonly string[], changing: Changing): Promise<void> {
  const { session, namesChanged, failureOf } = changing;
  try {
    // What touches nothing has only looked: nobody has to look again because of it.
    if (names.length === 0) return await session.commit();
    await committed(names, changing, () => session.commit());
    namesChanged(names);
  } catch (error) {
    throw NOT_WRITTEN.test(messageOf(error)) ? failureOf(error) : error;
  }
}

/** What makes something that only its connection has. PIVOT makes a type. */
const LEAVES_TEMPORARY = /\btemp(?:orary)?\b|\bpivot/i;
/** It is never run: a session whose statements it is among does not give its connection back. */
const GIVES_UP_CONNECTION = "SET VARIABLE eider_change = true";

let changes = 0;

/** The statements of one attempt. */
function stepsIn({ session, failureOf }: Changing): {
  run(statement: Statement): Promise<TextRows>;
  /** The database's error when others changed the same: the attempt is in vain, whatever is made of it. */
  conflict(): unknown;
} {
  let conflict: unknown;
  let hasWritten = false;
  let givesUp = false;

  async function execute({ sql, values }: Statement): Promise<duckdb.Result> {
    if (!givesUp && LEAVES_TEMPORARY.test(sql)) {
      // A commit keeps temporary tables, and the next user of the connection is not to find them.
      givesUp = true;
      await session.prepare(GIVES_UP_CONNECTION);
    }
    // The plan of a text without values is kept, and one from before our own changes may miss rows of theirs.
    const isPlannedOnce = hasWritten && values.length === 0;
    const result = await session.execute({ sql: isPlannedOnce ? `${sql}\n-- ${changes++}` : sql, values });
    hasWritten ||= duckdb.result_statement_type(result) !== duckdb.StatementType.SELECT;
    return result;
  }

  return {
    conflict: () => conflict,
    async run(statement) {
      try {
        const result = await execute(statement);
        return isText(result) ? await textRows(result) : [];
      } catch (error) {
        if (!isConflict(error)) throw failureOf(error);
        conflict ??= error;
        throw error;
      }
    },
  };
}

function isText(result: duckdb.Result): boolean {
  const columns = Array.from({ length: duckdb.column_count(result) }, (_, index) => index);
  return columns.every((index) => duckdb.column_type(result, index) === duckdb.Type.VARCHAR);
}
