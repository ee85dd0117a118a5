import duckdb from "@duckdb/node-bindings";
import type { Rows } from "../engine.ts";
import { EVERYTHING, heldRows } from "./held-rows.ts";
import { countRows, type Reading } from "./reading.ts";
import { windowedQuery } from "./windowed-query.ts";

/**
 * A page of at most `limit` rows, held as a whole. A page that is not full tells the total by itself: then there is
 * nothing to count, and no second statement that would need the same snapshot. Undefined: the statement stands alone.
 */
export async function readPage(reading: Reading, limit: number): Promise<Rows | undefined> {
  const { session, memory, last, window, signal, total } = reading;
  const counts = total.kind === "own";
  if (counts && (limit === 0 || memory.fullPages.get(last.sql) === true)) await reading.start();
  const page = await windowedQuery(last, window, reading);
  if (page === undefined) return undefined;

  let result = await session.execute(page);
  let rows = total.kind === "known" ? total.rows : undefined;
  if (counts) {
    const found = duckdb.row_count(result);
    if (found < limit && (found > 0 || window.offset === 0)) {
      rows = window.offset + found;
      if (window.offset === 0) memory.fullPages.delete(last.sql);
    } else {
      if (limit > 0) memory.fullPages.set(last.sql, true);
      if (!session.inTransaction()) {
        // This time the page came first. It is read again, so that it comes from the snapshot that is counted.
        await reading.start();
        result = await session.execute(page);
      }
      rows = await countRows(session, last);
    }
  }
  await session.end();
  return heldRows(result, { total: rows, window: EVERYTHING, signal });
}
