import duckdb from "@duckdb/node-bindings";
import type { Rows } from "../../rows.ts";
import { heldRows } from "../load/held-rows.ts";
import type { QueryHints } from "./query-hints.ts";
import type { ReadContext } from "./read-context.ts";
import { windowedQuery } from "./windowed-query.ts";

const FEW_ROWS = duckdb.vector_size();
const MAX_GROWTH_BYTES = 64 * 1024 * 1024;

/** Notes how many rows a query returned in all. */
export function noteSize({ size }: QueryHints, sql: string, rows: number): void {
  if (rows > FEW_ROWS) size.set(sql, "varies");
  else if (size.get(sql) === undefined) size.set(sql, "few");
}

/**
 * Reads all rows of a query that returned few so far. Undefined if there are many this time, or if the statement cannot be a
 * sub-query.
 */
export async function readSmall(context: ReadContext): Promise<Rows | undefined> {
  const { session, hints, last, total, window, signal, watch, maxValueBytes } = context;
  const result = (await executeGuarded(context)) ?? (await executeLimited(context));
  if (result === undefined) return undefined;
  const rows = duckdb.row_count(result);
  if (rows > FEW_ROWS) {
    hints.size.set(last.sql, "varies");
    return undefined;
  }
  const columns = session.columnsOf(result, context.readsOwnTables(last));
  const ending = session.end();
  if (ending instanceof Promise) await ending;
  const totalRows = total.kind === "own" ? rows : total.kind === "known" ? total.rows : undefined;
  return heldRows(result, { columns, total: totalRows, window, signal, watch, maxValueBytes });
}

/**
 * Runs the query as it is: a LIMIT would take a tenth of the time of a look-up. Instead, the memory of the process limits the
 * rows. Undefined if it grows too much, or in a transaction, which an interrupt would end.
 */
function executeGuarded({
  session,
  hints,
  last,
  residentBytes,
}: ReadContext): Promise<duckdb.Result | undefined> | undefined {
  if (residentBytes === undefined || hints.size.get(last.sql) !== "few" || session.inTransaction()) return undefined;
  let before: number | undefined;
  return session.executeWhile(last, () => {
    const now = residentBytes();
    before ??= now;
    const mayContinue = now !== undefined && before !== undefined && now - before < MAX_GROWTH_BYTES;
    if (!mayContinue) hints.size.set(last.sql, "few-but-costly");
    return mayContinue;
  });
}

async function executeLimited(context: ReadContext): Promise<duckdb.Result | undefined> {
  const query = await windowedQuery(context.last, { limit: FEW_ROWS + 1, offset: 0 }, context);
  return query && (await context.session.execute(query));
}
