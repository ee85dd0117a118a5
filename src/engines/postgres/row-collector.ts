import { RequestFailure } from "../../failure.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Window } from "../engine.ts";
import type { Prepared } from "./prepared.ts";

/** Turns the rows of a statement into chunks, within a window. */
export interface RowCollector {
  row(bytes: Buffer, start: number): void;
  /** The rows that do not fill a chunk. */
  flush(): void;
  /** All rows so far, inside the window or not. */
  count(): number;
}

export interface CollectorOptions {
  readonly window: Window;
  readonly maxValueBytes: number;
  readonly onChunk: (chunk: Chunk) => void;
}

export const CHUNK_ROWS = 2048;
const CHUNK_BYTES = 4 * 1024 * 1024;

export function collectRows({ columns, types }: Prepared, options: CollectorOptions): RowCollector {
  const { window, maxValueBytes, onChunk } = options;
  const builders = types.map((type) => type.open());
  const end = window.limit === undefined ? Number.POSITIVE_INFINITY : window.offset + window.limit;
  let count = 0;
  let rows = 0;
  let bytesHeld = 0;

  function flush(): void {
    if (rows === 0) return;
    const chunk = { rows, vectors: builders.map((builder) => builder.take()) };
    rows = 0;
    bytesHeld = 0;
    onChunk(chunk);
  }

  return {
    row(bytes, start) {
      const index = count++;
      if (index < window.offset || index >= end) return;
      let at = start + 2;
      for (let i = 0; i < builders.length; i++) {
        const length = bytes.readInt32BE(at);
        at += 4;
        if (length < 0) builders[i]?.addNull();
        else {
          if (length > maxValueBytes) throw tooLong(columns[i]?.name ?? "", length, maxValueBytes);
          builders[i]?.add(bytes, at, length);
          at += length;
        }
      }
      bytesHeld += at - start;
      if (++rows === CHUNK_ROWS || bytesHeld >= CHUNK_BYTES) flush();
    },
    flush,
    count: () => count,
  };
}

function tooLong(column: string, bytes: number, maxValueBytes: number): RequestFailure {
  const message = `column '${column}' holds a value of ${bytes} bytes, more than limits.max-value-bytes (${maxValueBytes}); return less of it, or raise the limit`;
  return new RequestFailure({ kind: "query-failed", message });
}
