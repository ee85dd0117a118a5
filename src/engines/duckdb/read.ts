import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../failure.ts";
import type { Statement } from "../../sql/statement.ts";
import type { Read, Rows, Window } from "../engine.ts";
import { EVERYTHING, heldRows } from "./held-rows.ts";
import type { ReadMemory } from "./read-memory.ts";
import { readPage } from "./read-page.ts";
import { readStream } from "./read-stream.ts";
import type { Session } from "./session.ts";
import type { StreamOptions } from "./streamed-rows.ts";
import { countQuery } from "./wrap-query.ts";

/** A read on its way: its statements, and what they run with. */
export interface Reading {
  readonly session: Session;
  readonly memory: ReadMemory;
  readonly last: Statement;
  readonly window: Window;
  readonly total: Total;
  readonly signal: AbortSignal;
  readonly stream: Pick<StreamOptions, "crowded" | "failureOf">;
  /** Opens the snapshot and runs the leading statements in it, if that has not been done. */
  start(): Promise<void>;
  /** Throws the snapshot away and takes a new one. */
  restart(): Promise<void>;
}

/** Whether and how the rows are counted: those of the last statement itself, or known already. */
export type Total =
  | { readonly kind: "none" }
  | { readonly kind: "own" }
  | { readonly kind: "known"; readonly rows: number };

/** Larger pages are streamed: DuckDB holds all of what a LIMIT lets through. */
const LARGEST_HELD_PAGE = 20_000;

/** Reads with the fewest native calls: a look-up that fits its page is one. */
export async function readRows(
  read: Read,
  { session, memory, stream }: Pick<Reading, "session" | "memory" | "stream">,
): Promise<Rows> {
  const last = read.statements.at(-1);
  if (last === undefined)
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  const leading = read.statements.slice(0, -1);
  let started = false;
  const reading: Omit<Reading, "total"> = {
    session,
    memory,
    last,
    window: read.window ?? EVERYTHING,
    signal: read.signal,
    stream,
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

export async function countRows(session: Session, statement: Statement): Promise<number> {
  const result = await session.execute(countQuery(statement));
  const vector = duckdb.data_chunk_get_vector(duckdb.result_get_chunk(result, 0), 0);
  return Number(Buffer.from(duckdb.vector_get_data(vector, 8)).readBigInt64LE());
}

/** For statements that cannot stand in a sub-query. Their results are small; we cut them ourselves. */
async function readAlone(reading: Reading): Promise<Rows> {
  const { session, last, total, window, signal } = reading;
  await reading.start();
  const result = await session.execute(last);
  await session.end();
  const rows = total.kind === "own" ? duckdb.row_count(result) : total.kind === "known" ? total.rows : undefined;
  return heldRows(result, { total: rows, window, signal });
}
