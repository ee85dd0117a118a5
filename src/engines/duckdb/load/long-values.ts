import type duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../../failure.ts";
import type { Chunk } from "../../../result/chunk.ts";
import type { Column } from "../../../result/column.ts";
import { sliceChunk } from "../../../result/slice-chunk.ts";
import { loadChunk } from "./load-vectors.ts";
import { LongVector } from "./long-vector.ts";

/** How many bytes of strings in one column are copied out of DuckDB at once. */
const PIECE_BYTES = 16 * 1024 * 1024;

/** Rows of a native chunk whose values are so long that they are copied piece by piece. */
export interface LongRows {
  readonly kind: "long";
  readonly native: duckdb.DataChunk;
  readonly rows: number;
  readonly from: number;
  readonly to: number;
}

export function isLong(rows: Chunk | LongRows): rows is LongRows {
  return "kind" in rows;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Rows of a native chunk, copied as a whole unless they are long. Nothing long is copied before its length is known. */
export function loadRows(
  native: duckdb.DataChunk,
  columns: readonly Column[],
  { from, to, maxValueBytes }: Range & { readonly maxValueBytes: number },
): Chunk | LongRows {
  try {
    return sliceChunk(loadChunk(native, columns, wholeBounds(maxValueBytes)), columns, { from, to });
  } catch (error) {
    if (!(error instanceof LongVector)) throw error;
    return { kind: "long", native, rows: to - from, from, to };
  }
}

function wholeBounds(maxValueBytes: number): { readonly pieceBytes: number; readonly valueBytes: number } {
  return { pieceBytes: Math.min(PIECE_BYTES, maxValueBytes), valueBytes: maxValueBytes };
}

/** Long rows as small chunks, each copied on demand. Throws a RequestFailure at a value that is too long. */
export function* piecesOf(
  { native, from, to }: LongRows,
  columns: readonly Column[],
  maxValueBytes: number,
): Generator<Chunk, undefined> {
  const remaining: Range[] = [{ from, to }];
  for (let range = remaining.pop(); range !== undefined; range = remaining.pop()) {
    const isOneRow = range.to - range.from === 1;
    const bounds = isOneRow ? { pieceBytes: maxValueBytes, valueBytes: maxValueBytes } : wholeBounds(maxValueBytes);
    try {
      yield sliceChunk(loadChunk(native, columns, { ...bounds, range }), columns, range);
    } catch (error) {
      if (!(error instanceof LongVector)) throw error;
      if (isOneRow || error.isOneValue) throw tooLong(error, maxValueBytes);
      const middle = (range.from + range.to) >> 1;
      remaining.push({ from: middle, to: range.to }, { from: range.from, to: middle });
    }
  }
  return undefined;
}

function tooLong({ column, bytes }: LongVector, maxValueBytes: number): RequestFailure {
  const message = `column '${column}' holds a value of ${bytes} bytes, more than limits.max-value-bytes (${maxValueBytes}); return less of it, or raise the limit`;
  return new RequestFailure({ kind: "query-failed", message });
}
