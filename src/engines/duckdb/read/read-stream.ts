import duckdb from "@duckdb/node-bindings";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { StreamFailed, streamRows } from "../load/streamed-rows.ts";
import { countRows, type ReadContext } from "./read-context.ts";
import { windowedQuery } from "./windowed-query.ts";

const CHUNK_ROWS = duckdb.vector_size();

/** Reads all rows, or a large page, while DuckDB produces them. Undefined: the statement cannot be a sub-query. */
export async function readStream(context: ReadContext): Promise<Rows | undefined> {
  const { session, hints, last, window, signal, stream, watch, maxValueBytes } = context;
  const total = await countTotal(context);
  if (hints.small.get(last.sql) === true) {
    const rows = await readSmall(context, total);
    if (rows !== undefined) return rows;
  }
  // The limit is applied here: DuckDB would buffer all rows up to it before it returns the first.
  const query = await windowedQuery(last, { limit: undefined, offset: window.offset }, context);
  if (query === undefined) return undefined;
  await context.start();
  const result = await session.stream(query);
  const limited = { limit: window.limit, offset: 0 };
  try {
    const rows = await streamRows(session, result, { total, window: limited, signal, maxValueBytes, ...stream });
    if (session.hasEnded()) hints.small.set(last.sql, true);
    return rows;
  } catch (error) {
    if (!(error instanceof StreamFailed)) throw error;
    // No row has been returned yet. When the query runs to its end in one call, DuckDB reports the error.
    await context.restart();
    const held = await session.execute(query);
    await session.end();
    return heldRows(held, { total, window: limited, signal, watch, maxValueBytes });
  }
}

async function countTotal(context: ReadContext): Promise<number | undefined> {
  const { session, last, total } = context;
  switch (total.kind) {
    case "none":
      return undefined;
    case "known":
      return total.rows;
    case "own": {
      // A statement that cannot be a sub-query is counted after it has run.
      if ((await windowedQuery(last, EVERYTHING, context)) === undefined) return undefined;
      await context.start();
      return await countRows(session, last);
    }
  }
}

/** For a query that was small before: one native call, no transaction. Undefined when it has grown. */
async function readSmall(context: ReadContext, total: number | undefined): Promise<Rows | undefined> {
  const { session, hints, last, window, signal, watch, maxValueBytes } = context;
  const query = await windowedQuery(last, { limit: CHUNK_ROWS + 1, offset: window.offset }, context);
  if (query === undefined) return undefined;
  const result = await session.execute(query);
  if (duckdb.row_count(result) > CHUNK_ROWS) {
    hints.small.delete(last.sql);
    return undefined;
  }
  await session.end();
  return heldRows(result, { total, window: EVERYTHING, signal, watch, maxValueBytes });
}
