import duckdb from "@duckdb/node-bindings";
import type { RequestFailure } from "../../../failure.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Change, StageRows, TextRows } from "../../embedded-engine.ts";
import { isConflict } from "../messages.ts";
import { textRows } from "../plan/inspect.ts";
import { stageRows } from "./stage-rows.ts";
import { commitAndInvalidate, type WriteContext } from "./write.ts";

export interface ChangeContext extends WriteContext {
  /** Converts an error from the database into a failure. */
  readonly failureOf: (error: unknown) => RequestFailure;
  /** Statements that configure its connection beforehand. */
  readonly setup: readonly Statement[];
}

/**
 * Runs Eider's own bookkeeping, step by step in one transaction. Rejects with the database's error. The returned function returns
 * the value of `work`, or throws what `work` threw.
 */
export async function runChange<T>(
  { touches }: Change,
  work: (run: (statement: Statement) => Promise<TextRows>, stage: StageRows) => Promise<T>,
  context: ChangeContext,
): Promise<() => T> {
  const { session, serializer, failureOf, invalidateNames, setup } = context;
  const names = touches.map((name) => name.toLowerCase());

  async function attempt(): Promise<PromiseSettledResult<T>> {
    /** The database's error after a conflict: the attempt must be retried, even when `work` handles the error. */
    let conflict: unknown;
    async function run(statement: Statement): Promise<TextRows> {
      try {
        const result = await session.execute(statement);
        return isAllText(result) ? await textRows(result) : [];
      } catch (error) {
        if (!isConflict(error)) throw failureOf(error);
        conflict ??= error;
        throw error;
      }
    }
    await session.begin();
    const [done] = await Promise.allSettled([work(run, (rows) => stageRows(session, rows))]);
    if (conflict !== undefined) throw conflict;
    if (done.status === "rejected") return done;
    // A change that touches no table has only read: it invalidates nothing.
    if (names.length === 0) await session.commit();
    else {
      await commitAndInvalidate(names, context, () => session.commit(), true);
      invalidateNames(names);
    }
    return done;
  }

  // The setup fails if the project has locked its settings, which then stay as they are.
  for (const each of setup) await session.execute(each).catch(() => session.cancellation.check());
  const settled = await serializer.run(`\0${names.toSorted().join("\0")}`, session, attempt);
  await session.end();
  return () => {
    if (settled.status === "fulfilled") return settled.value;
    throw settled.reason;
  };
}

function isAllText(result: duckdb.Result): boolean {
  const columns = Array.from({ length: duckdb.column_count(result) }, (_, index) => index);
  return columns.every((index) => duckdb.column_type(result, index) === duckdb.Type.VARCHAR);
}
