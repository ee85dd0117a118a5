import duckdb from "@duckdb/node-bindings";
import type { RequestFailure } from "../../../failure.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Change, TextRows } from "../../engine.ts";
import { isConflict } from "../messages.ts";
import { textRows } from "../plan/inspect.ts";
import { committed, type WriteContext } from "./write.ts";

export interface ChangeContext extends WriteContext {
  /** Translates an error of the database for the caller. */
  readonly failureOf: (error: unknown) => RequestFailure;
}

/** Returns the value of `work`, or throws what `work` threw. */
export type ChangeResult<T> = () => T;

/** Eider's own bookkeeping, step by step in one transaction. Rejects with the database's error. */
export async function runChange<T>(
  { touches }: Change,
  work: (run: (statement: Statement) => Promise<TextRows>) => Promise<T>,
  context: ChangeContext,
): Promise<ChangeResult<T>> {
  const { session, serializer } = context;
  const names = touches.map((name) => name.toLowerCase());
  const settled = await serializer.run(`\0${names.toSorted().join("\0")}`, session, async () => {
    await session.begin();
    const steps = stepsIn(context);
    const [done] = await Promise.allSettled([work(steps.run)]);
    const conflict = steps.conflict();
    if (conflict !== undefined) throw conflict;
    if (done.status === "fulfilled") await commit(names, context);
    return done;
  });
  await session.end();
  return () => {
    if (settled.status === "fulfilled") return settled.value;
    throw settled.reason;
  };
}

async function commit(names: readonly string[], context: ChangeContext): Promise<void> {
  const { session, namesChanged } = context;
  // A change that touches no table has only read: it invalidates nothing.
  if (names.length === 0) return await session.commit();
  await committed(names, context, () => session.commit());
  namesChanged(names);
}

/** The statements of one attempt. */
function stepsIn({ session, failureOf }: ChangeContext): {
  run(statement: Statement): Promise<TextRows>;
  /** The database's error after a conflict: the attempt must be retried, even when `work` handles the error. */
  conflict(): unknown;
} {
  let conflict: unknown;
  return {
    conflict: () => conflict,
    async run(statement) {
      try {
        const result = await session.execute(statement);
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
