import duckdb from "@duckdb/node-bindings";
import type { Read } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import type { ReadMemory } from "./read-memory.ts";
import { readPage } from "./read-page.ts";
import { readStream } from "./read-stream.ts";
import { snapshotOf, totalOf } from "./read-transaction.ts";
import type { Reading } from "./reading.ts";

/** Larger pages are streamed: DuckDB holds all of what a LIMIT lets through. */
const LARGEST_HELD_PAGE = 20_000;

/** Whether the rows will be held as a whole, as far as that is known before they are read. */
export function willBeHeld({ statements, window }: Read, memory: ReadMemory): boolean {
  if (window?.limit !== undefined && window.limit <= LARGEST_HELD_PAGE) return true;
  return memory.small.get(statements.at(-1)?.sql ?? "") === true;
}

/** Reads with the fewest native calls: a look-up that fits its page is one. */
export async function readRows(
  read: Read,
  surroundings: Pick<Reading, "session" | "memory" | "stream" | "totals" | "watch" | "sibling" | "maxValueBytes">,
): Promise<Rows> {
  const { session } = surroundings;
  const snapshot = snapshotOf(read, session);
  const reading: Omit<Reading, "total"> = {
    ...surroundings,
    ...snapshot,
    window: read.window ?? EVERYTHING,
    signal: read.signal,
  };
  const total = await totalOf(read, session, snapshot);
  if (read.statements.length > 1) await reading.start();
  const { limit } = reading.window;
  const held = limit !== undefined && limit <= LARGEST_HELD_PAGE;
  return (
    (await (held ? readPage({ ...reading, total }, limit) : readStream({ ...reading, total }))) ??
    (await readAlone({ ...reading, total }))
  );
}

/** For statements that cannot stand in a sub-query. Their results are small; we cut them ourselves. */
async function readAlone(reading: Reading): Promise<Rows> {
  const { session, last, total, window, signal, watch, maxValueBytes } = reading;
  await reading.start();
  const result = await session.execute(last);
  await session.end();
  const rows = total.kind === "own" ? duckdb.row_count(result) : total.kind === "known" ? total.rows : undefined;
  return heldRows(result, { total: rows, window, signal, watch, maxValueBytes });
}
