import duckdb from "@duckdb/node-bindings";
import type { Statement } from "../../../sql/statement.ts";
import type { Window } from "../../engine.ts";
import type { Session } from "../session/session.ts";
import type { QueryHints } from "./query-hints.ts";
import { extendQuery, wrapQuery } from "./wrap-query.ts";

/** The query with its window, prepared. Undefined if it cannot be a sub-query: PRAGMA, CALL, EXPLAIN. */
export async function windowedQuery(
  query: Statement,
  window: Window,
  { session, hints }: { readonly session: Session; readonly hints: QueryHints },
): Promise<Statement | undefined> {
  const form = hints.form.get(query.sql);
  if (form === "alone") return undefined;
  const { limit, offset } = window;
  // A client can ask for a thousand different limits, and each text is another prepared statement.
  const isLimitBound = limit !== undefined && hints.limit.get(query.sql) !== limit;
  if (isLimitBound) hints.limit.set(query.sql, limit);
  const queryWindow = { limit, offset, isLimitBound };
  const extended = form === "wrapped" ? undefined : extendQuery(query, queryWindow);
  if (extended !== undefined && (await preparesAsSelect(extended, session))) return extended;
  const wrapped = wrapQuery(query, queryWindow);
  if (await preparesAsSelect(wrapped, session)) {
    hints.form.set(query.sql, "wrapped");
    return wrapped;
  }
  // If the original query fails too, its error is the one to report.
  await session.prepare(query.sql);
  hints.form.set(query.sql, "alone");
  return undefined;
}

async function preparesAsSelect({ sql }: Statement, session: Session): Promise<boolean> {
  try {
    // `WITH ... INSERT ... SELECT` accepts a LIMIT too, but must not run outside a transaction.
    return duckdb.prepared_statement_type(await session.prepare(sql)) === duckdb.StatementType.SELECT;
  } catch {
    session.cancellation.check();
    return false;
  }
}
