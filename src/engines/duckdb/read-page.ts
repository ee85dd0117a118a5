import duckdb from "@duckdb/node-bindings";
import type { Statement } from "../../sql/statement.ts";
import type { Rows, Window } from "../engine.ts";
import { EVERYTHING, heldRows } from "./held-rows.ts";
import { countRows, type Reading } from "./read.ts";
import { wrapQuery } from "./wrap-query.ts";

/**
 * A page of at most `limit` rows, held as a whole. A page that is not full tells the total by itself: then there is
 * nothing to count, and no second statement that would need the same snapshot. Undefined: the statement stands alone.
 */
export async function readPage(reading: Reading, limit: number): Promise<Rows | undefined> {
  const { session, memory, last, window, signal, total } = reading;
  const counts = total.kind === "own";
  if (counts && (limit === 0 || memory.fullPages.get(last.sql) === true)) await reading.start();
  const page = await wrap(reading, window);
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

/** The wanted part of the last statement, prepared; undefined when it cannot stand in a sub-query. */
export async function wrap({ session, memory, last }: Reading, window: Window): Promise<Statement | undefined> {
  if (memory.standsAlone.get(last.sql) === true) return undefined;
  const wrapped = wrapQuery(last, window);
  try {
    await session.prepare(wrapped.sql);
    return wrapped;
  } catch {
    // When the statement as it was written fails too, its own error is the one to show.
    await session.prepare(last.sql);
    memory.standsAlone.set(last.sql, true);
    return undefined;
  }
}
