import duckdb from "@duckdb/node-bindings";
import type { Read } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import type { QueryHints } from "./query-hints.ts";
import type { ReadContext } from "./read-context.ts";
import { readPage } from "./read-page.ts";
import { readStream } from "./read-stream.ts";
import { readTransactionOf, totalOf } from "./read-transaction.ts";

/** Larger pages are streamed: DuckDB buffers all rows up to a LIMIT. */
const MAX_HELD_PAGE_ROWS = 20_000;

/** Whether the rows will be held as a whole. False if unknown. */
export function willBeHeld({ statements, window }: Read, hints: QueryHints): boolean {
  if (window?.limit !== undefined && window.limit <= MAX_HELD_PAGE_ROWS) return true;
  return hints.small.get(statements.at(-1)?.sql ?? "") === true;
}

/** Reads with the fewest native calls: one for a look-up that fits its page. */
export async function readRows(
  read: Read,
  dependencies: Pick<ReadContext, "session" | "hints" | "stream" | "totals" | "watch" | "sibling" | "maxValueBytes">,
): Promise<Rows> {
  const { session } = dependencies;
  const transaction = readTransactionOf(read, session);
  const context: Omit<ReadContext, "total"> = {
    ...dependencies,
    ...transaction,
    window: read.window ?? EVERYTHING,
    signal: read.signal,
  };
  const total = await totalOf(read, session, transaction);
  if (read.statements.length > 1) await context.start();
  const { limit } = context.window;
  const isHeldPage = limit !== undefined && limit <= MAX_HELD_PAGE_ROWS;
  return (
    (await (isHeldPage ? readPage({ ...context, total }, limit) : readStream({ ...context, total }))) ??
    (await readAlone({ ...context, total }))
  );
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
