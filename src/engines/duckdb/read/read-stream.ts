import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { StreamFailed, streamRows } from "../load/streamed-rows.ts";
import { countRows, type ReadContext } from "./read-context.ts";
import { noteSize } from "./read-small.ts";
import { windowedQuery } from "./windowed-query.ts";

/** Reads all rows, or a large page, while DuckDB produces them. Undefined: the statement cannot be a sub-query. */
export async function readStream(context: ReadContext): Promise<Rows | undefined> {
  const { session, hints, last, window, signal, stream, watch, maxValueBytes } = context;
  const total = await countTotal(context);
  // The limit is applied here: DuckDB would buffer all rows up to it before it returns the first.
  const query = await windowedQuery(last, { limit: undefined, offset: window.offset }, context);
  if (query === undefined) return undefined;
  await context.start();
  const result = await session.stream(query);
  const limited = { limit: window.limit, offset: 0 };
  try {
    const rows = await streamRows(session, result, { total, window: limited, signal, watch, maxValueBytes, ...stream });
    if (session.hasEnded() && window.limit === undefined) noteSize(hints, last.sql, 0);
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
