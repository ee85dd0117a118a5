import duckdb from "@duckdb/node-bindings";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { StreamFailed, streamRows } from "../load/streamed-rows.ts";
import { countRows, type ReadContext } from "./read-context.ts";
import { windowedQuery } from "./windowed-query.ts";

const CHUNK_ROWS = duckdb.vector_size();

/** All rows, or more than a page holds, as DuckDB finds them. Undefined: the statement stands alone. */
export async function readStream(context: ReadContext): Promise<Rows | undefined> {
  const { session, hints, last, window, signal, stream, watch, maxValueBytes } = context;
  const total = await totalOf(context);
  if (hints.small.get(last.sql) === true) {
    const rows = await readSmall(context, total);
    if (rows !== undefined) return rows;
  }
  // The limit is kept by us: DuckDB would hold everything below it before the first row comes out.
  const query = await windowedQuery(last, { limit: undefined, offset: window.offset }, context);
  if (query === undefined) return undefined;
  await context.start();
  const result = await session.stream(query);
  const rest = { limit: window.limit, offset: 0 };
  try {
    const rows = await streamRows(session, result, { total, window: rest, signal, maxValueBytes, ...stream });
    if (session.ended()) hints.small.set(last.sql, true);
    return rows;
  } catch (error) {
    if (!(error instanceof StreamFailed)) throw error;
    // Nothing has been handed out yet. Run to its end in one go, the query tells its error.
    await context.restart();
    const held = await session.execute(query);
    await session.end();
    return heldRows(held, { total, window: rest, signal, watch, maxValueBytes });
  }
}

async function totalOf(context: ReadContext): Promise<number | undefined> {
  const { session, last, total } = context;
  switch (total.kind) {
    case "none":
      return undefined;
    case "known":
      return total.rows;
    case "own": {
      // A statement that stands alone is counted when it has run.
      if ((await windowedQuery(last, EVERYTHING, context)) === undefined) return undefined;
      await context.start();
      return await countRows(session, last);
    }
  }
}

/** For a query that was small before: in one native call, without a transaction. Undefined when it has grown. */
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
