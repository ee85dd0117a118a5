import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../failure.ts";
import type { Statement } from "../../sql/statement.ts";
import type { Read, Rows } from "../engine.ts";
import { EVERYTHING, heldRows } from "./held-rows.ts";
import type { ReadMemory } from "./read-memory.ts";
import { readPage } from "./read-page.ts";
import { readStream } from "./read-stream.ts";
import { countRows, type Reading, type Total } from "./reading.ts";

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
  surroundings: Pick<Reading, "session" | "memory" | "stream" | "totals" | "watch" | "sibling">,
): Promise<Rows> {
  const last = read.statements.at(-1);
  if (last === undefined)
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  const { session } = surroundings;
  const leading = read.statements.slice(0, -1);
  let started = false;
  const reading: Omit<Reading, "total"> = {
    ...surroundings,
    last,
    window: read.window ?? EVERYTHING,
    signal: read.signal,
    async start() {
      if (started) return;
      started = true;
      await session.begin();
      for (const statement of leading) await session.execute(statement);
    },
    async restart() {
      await session.rollback();
      started = false;
      await this.start();
    },
  };
  const total = await totalOf(read, reading);
  if (leading.length > 0) await reading.start();
  const { limit } = reading.window;
  const held = limit !== undefined && limit <= LARGEST_HELD_PAGE;
  return (
    (await (held ? readPage({ ...reading, total }, limit) : readStream({ ...reading, total }))) ??
    (await readAlone({ ...reading, total }))
  );
}

/** A template that pages itself has a statement of its own for the total; it is counted before anything else. */
async function totalOf(read: Read, reading: Omit<Reading, "total">): Promise<Total> {
  if (read.totalOf === undefined) return { kind: "none" };
  if (read.totalOf === read.statements) return { kind: "own" };
  const { session } = reading;
  const leading = read.totalOf.slice(0, -1);
  const counted = read.totalOf.at(-1);
  if (counted === undefined) return { kind: "none" };
  if (leading.every((statement, index) => sameStatement(statement, read.statements[index]))) {
    await reading.start();
    return { kind: "known", rows: await countRows(session, counted) };
  }
  // Temporary tables of the leading statements would collide, and DuckDB has no savepoints: two snapshots.
  await session.begin();
  for (const statement of leading) await session.execute(statement);
  const rows = await countRows(session, counted);
  await reading.restart();
  return { kind: "known", rows };
}

function sameStatement(one: Statement, other: Statement | undefined): boolean {
  return (
    one.sql === other?.sql &&
    one.values.length === other.values.length &&
    one.values.every(({ type, value }, index) => {
      const bound = other.values[index];
      return type === bound?.type && value === bound.value;
    })
  );
}

/** For statements that cannot stand in a sub-query. Their results are small; we cut them ourselves. */
async function readAlone(reading: Reading): Promise<Rows> {
  const { session, last, total, window, signal, watch } = reading;
  await reading.start();
  const result = await session.execute(last);
  await session.end();
  const rows = total.kind === "own" ? duckdb.row_count(result) : total.kind === "known" ? total.rows : undefined;
  return heldRows(result, { total: rows, window, signal, watch });
}
