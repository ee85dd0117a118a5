import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../../failure.ts";
import type { Chunk } from "../../../result/chunk.ts";
import { beginLongRead } from "../../heap-growth.ts";
import type { Rows } from "../../rows.ts";
import type { Session } from "../session/session.ts";
import { type HeldOptions, openWindowLoader, type Pieces } from "./held-rows.ts";
import { resultColumns } from "./logical-type.ts";
import { isLong, type LongRows, piecesOf } from "./long-values.ts";

/** The query failed while its rows were fetched. DuckDB does not report why. */
export class StreamFailed extends Error {
  constructor() {
    super("The query failed while its rows were read.");
    this.name = "StreamFailed";
  }
}

export interface StreamOptions extends HeldOptions {
  /** Whether other queries wait for a slot. */
  readonly isCrowded: () => boolean;
  /** Converts an error into a failure. */
  readonly failureOf: (error: unknown) => RequestFailure;
}

const FULL_CHUNK = duckdb.vector_size();
/** How many chunks are fetched at once while other queries wait for a slot. */
const CHUNKS_PER_TURN = 8;
/** A read of so many chunks is long: its buffers may fill the heap before it ends. */
const LONG_READ_CHUNKS = 4;

/** Rows of a query that still runs. The session has an open transaction, which ends with the rows. */
export async function streamRows(session: Session, result: duckdb.Result, options: StreamOptions): Promise<Rows> {
  const columns = resultColumns(result);
  const { maxValueBytes } = options;
  const loader = openWindowLoader(options.window, { columns, maxValueBytes });
  const ahead: (Chunk | LongRows)[] = [];
  let pieces: Pieces | undefined;
  let atEnd = false;
  let fetches = 0;
  let endLongRead: (() => void) | undefined;
  let fetching: Promise<unknown> | undefined;

  /** Fetches until `count` chunks are loaded or none is left. */
  async function fetchAhead(count: number): Promise<void> {
    while (!atEnd && ahead.length < count) {
      const native = loader.isFull() ? undefined : await session.fetch(result);
      if (++fetches === LONG_READ_CHUNKS) endLongRead = beginLongRead();
      const chunk = native === undefined ? undefined : loader.load(native);
      if (chunk !== undefined) ahead.push(chunk);
      else if (native === undefined) await finish();
    }
  }

  async function finish(): Promise<void> {
    if (!loader.isFull() && (await session.hasStreamFailed())) throw new StreamFailed();
    atEnd = true;
    endLongRead?.();
    await session.end();
  }

  /** Releases the slot while the consumer processes rows. If the read is cancelled meanwhile, the session ends. */
  function yieldSlot(): void {
    if (atEnd) return;
    session.pause();
    session.cancellation.listen(() => void session.end());
  }

  async function fetchTurn(): Promise<void> {
    try {
      await session.resume();
      await fetchAhead(options.isCrowded() ? CHUNKS_PER_TURN : 1);
      yieldSlot();
    } catch (error) {
      await session.end();
      throw options.failureOf(error);
    }
  }

  await fetchAhead(1);
  // A small result is read to its end before any row is returned, so that an error fails the whole read.
  if ((ahead[0]?.rows ?? 0) < FULL_CHUNK) await fetchAhead(2);
  yieldSlot();
  return {
    columns,
    total: options.total,
    watch: options.watch,
    async next() {
      if (options.signal.aborted) throw options.signal.reason;
      const piece = pieces?.next().value;
      if (piece !== undefined) return piece;
      if (ahead.length === 0 && !atEnd) {
        fetching = fetchTurn();
        await fetching;
      }
      const found = ahead.shift();
      if (found === undefined || !isLong(found)) return found;
      pieces = piecesOf(found, columns, maxValueBytes);
      return pieces.next().value;
    },
    async close() {
      session.cancellation.cancel(new RequestFailure({ kind: "cancelled" }));
      await fetching?.catch(() => {});
      ahead.length = 0;
      pieces = undefined;
      atEnd = true;
      endLongRead?.();
      await session.end();
    },
  };
}
