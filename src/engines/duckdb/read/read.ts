import duckdb from "@duckdb/node-bindings";
import type { Read } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import type { QueryHints } from "./query-hints.ts";
import type { ReadContext } from "./read-context.ts";
import { readPage } from "./read-page.ts";
import { readSmall } from "./read-small.ts";
import { readStream } from "./read-stream.ts";
import { findTotal, readTransactionOf } from "./read-transaction.ts";

/** Larger pages are streamed: DuckDB buffers all rows up to a LIMIT. */
const MAX_HELD_PAGE_ROWS = 20_000;

/** Whether the rows will be held as a whole. False if unknown. */
export function willBeHeld({ statements, window }: Read, hints: QueryHints): boolean {
  if (window?.limit !== undefined && window.limit <= MAX_HELD_PAGE_ROWS) return true;
  const size = hints.size.get(statements.at(-1)?.sql ?? "");
  return size === "few" || size === "few-but-costly";
}

/** Reads with the fewest native calls: one for a look-up that fits its page. */
export async function readRows(
  read: Read,
  dependencies: Omit<ReadContext, "last" | "window" | "total" | "signal" | "start" | "restart">,
): Promise<Rows> {
  const { session, hints, stream, totals, watch, sibling, maxValueBytes, residentBytes, readsOwnTables } = dependencies;
  const transaction = readTransactionOf(read, session);
  const { last, start, restart } = transaction;
  const { signal, window = EVERYTHING } = read;
  const counting = findTotal(read, session, transaction);
  const total = counting instanceof Promise ? await counting : counting;
  // Written out: an object with spread members is slow to create.
  const context: ReadContext = {
    session,
    hints,
    stream,
    totals,
    watch,
    sibling,
    maxValueBytes,
    residentBytes,
    readsOwnTables,
    last,
    start,
    restart,
    window,
    signal,
    total,
  };
  if (read.statements.length > 1) await start();
  const { limit } = window;
  const isHeldPage = limit !== undefined && limit <= MAX_HELD_PAGE_ROWS;
  if (isSmall(context, isHeldPage)) {
    const rows = await readSmall(context);
    if (rows !== undefined) return rows;
  }
  return (await (isHeldPage ? readPage(context, limit) : readStream(context))) ?? (await readAlone(context));
}

/** A page needs a LIMIT anyway, unless the query is run without one. */
function isSmall({ hints, last, residentBytes }: ReadContext, isHeldPage: boolean): boolean {
  const size = hints.size.get(last.sql);
  if (isHeldPage) return size === "few" && residentBytes !== undefined;
  return size === "few" || size === "few-but-costly";
}

/** For statements that cannot be a sub-query. Their results are small; the window is applied afterwards. */
async function readAlone(context: ReadContext): Promise<Rows> {
  const { session, last, total, window, signal, watch, maxValueBytes } = context;
  await context.start();
  const result = await session.execute(last);
  await session.end();
  const rows = total.kind === "own" ? duckdb.row_count(result) : total.kind === "known" ? total.rows : undefined;
  return heldRows(result, { total: rows, window, signal, watch, maxValueBytes });
}
