import { RequestFailure } from "../../failure.ts";
import type { Chunk } from "../../result/chunk.ts";
import { beginLongRead } from "../heap-growth.ts";
import { NOT_WATCHED, type Rows } from "../rows.ts";
import { collectRows } from "./row-collector.ts";
import type { Session, Step } from "./session.ts";
import type { WindowedQuery } from "./window.ts";

export interface StreamOptions {
  readonly session: Session;
  readonly maxValueBytes: number;
  /** Steps in the same round trip. */
  readonly before: readonly Step[];
  readonly after: readonly Step[];
  /** Known when the first row is there. */
  readonly total: (() => number) | undefined;
  readonly failureOf: (error: unknown) => RequestFailure;
}

/** With so many chunks waiting for the consumer, no more bytes are read from the server. */
const MAX_WAITING = 4;
const LONG_READ_CHUNKS = 4;

/** Runs a query, and returns its rows while they arrive. The end of the rows ends the session. */
export async function streamRows({ prepared, cut }: WindowedQuery, options: StreamOptions): Promise<Rows> {
  const { session, maxValueBytes, before, after, total, failureOf } = options;
  const waiting: Chunk[] = [];
  let chunks = 0;
  let isDone = false;
  let isStreaming = false;
  let error: { readonly cause: unknown } | undefined;
  let wake = (): void => {};
  let endLongRead: (() => void) | undefined;

  const collector = collectRows(prepared, {
    window: cut,
    maxValueBytes,
    onChunk(chunk) {
      waiting.push(chunk);
      if (++chunks === LONG_READ_CHUNKS) endLongRead = beginLongRead();
      if (waiting.length >= MAX_WAITING) session.pause();
      wake();
    },
  });
  const maxRows = cut.limit === undefined ? undefined : cut.offset + cut.limit;

  async function run(): Promise<void> {
    try {
      await session.run([...before, { run: prepared, maxRows, onRow: collector.row }, ...after]);
      collector.flush();
    } catch (cause) {
      error = { cause };
    } finally {
      isDone = true;
      endLongRead?.();
      wake();
      if (isStreaming || error === undefined) await session.end();
    }
  }

  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });

  const running = run();
  // A small result is read to its end before any row is returned, so that an error fails the whole read.
  while (waiting.length === 0 && !isDone) await changed();
  if (isDone && error !== undefined) throw error.cause;
  isStreaming = true;
  return {
    columns: prepared.columns,
    total: total?.(),
    watch: NOT_WATCHED,
    async next() {
      while (waiting.length === 0 && !isDone) await changed();
      session.cancellation.check();
      if (error !== undefined) throw failureOf(error.cause);
      const chunk = waiting.shift();
      if (waiting.length === 0) session.resume();
      return chunk;
    },
    async close() {
      if (!isDone) session.cancellation.cancel(new RequestFailure({ kind: "cancelled" }));
      waiting.length = 0;
      session.resume();
      await running;
    },
  };
}
