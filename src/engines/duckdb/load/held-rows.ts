import duckdb from "@duckdb/node-bindings";
import type { Chunk } from "../../../result/chunk.ts";
import type { Column } from "../../../result/column.ts";
import type { StopSignal, Window } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { resultColumns } from "./logical-type.ts";
import { isLong, type LongRows, loadRows, piecesOf } from "./long-values.ts";

export interface HeldOptions {
  /** The columns of the result, if they are known already. */
  readonly columns?: readonly Column[];
  readonly total: number | undefined;
  /** The part of the result that is wanted. */
  readonly window: Window;
  readonly signal: StopSignal;
  readonly watch: Rows["watch"];
  readonly maxValueBytes: number;
}

/** Rows of a complete result: several readers can share them. */
export interface HeldRows extends Rows {
  /** The same rows from the start, for another reader. */
  fromStart(signal: StopSignal): HeldRows;
}

export function isHeld(rows: Rows): rows is HeldRows {
  return "fromStart" in rows;
}

export const EVERYTHING: Window = { limit: undefined, offset: 0 };

/** The rows of a complete result, which no longer needs its connection. */
export function heldRows(result: duckdb.Result, options: HeldOptions): HeldRows {
  const { total, window, signal, watch, maxValueBytes } = options;
  const { columns = resultColumns(result) } = options;
  const loader = openWindowLoader(window, { columns, maxValueBytes });
  const chunkCount = duckdb.result_chunk_count(result);
  const loaded: (Chunk | LongRows)[] = [];
  let fetched = 0;

  /** The wanted chunk at `index`. Each is loaded once for all readers. Long rows stay in DuckDB. */
  function chunkAt(index: number): Chunk | LongRows | undefined {
    while (loaded.length <= index && fetched < chunkCount) {
      const chunk = loader.load(duckdb.result_get_chunk(result, fetched++));
      if (chunk !== undefined) loaded.push(chunk);
    }
    return loaded[index];
  }

  function readFor(reader: StopSignal): HeldRows {
    let index = 0;
    let pieces: Pieces | undefined;
    return {
      columns,
      total,
      watch,
      next() {
        if (reader.aborted) throw reader.reason;
        const piece = pieces?.next().value;
        if (piece !== undefined) return piece;
        const found = chunkAt(index++);
        if (found === undefined || !isLong(found)) return found;
        pieces = piecesOf(found, columns, maxValueBytes);
        return pieces.next().value;
      },
      close() {
        index = Number.POSITIVE_INFINITY;
        pieces = undefined;
      },
      fromStart: readFor,
    };
  }
  return readFor(signal);
}

/** Long rows, loaded piece by piece. */
export type Pieces = Generator<Chunk, undefined>;

export interface LoadOptions {
  readonly columns: readonly Column[];
  readonly maxValueBytes: number;
}

/** Loads the wanted rows of consecutive chunks. */
export interface WindowLoader {
  /** Undefined when no row of the chunk is wanted. */
  load(chunk: duckdb.DataChunk): Chunk | LongRows | undefined;
  /** Whether no further rows are wanted. */
  isFull(): boolean;
}

export function openWindowLoader({ limit, offset }: Window, { columns, maxValueBytes }: LoadOptions): WindowLoader {
  let skip = offset;
  let left = limit ?? Number.POSITIVE_INFINITY;
  return {
    load(chunk) {
      const rows = duckdb.data_chunk_get_size(chunk);
      const from = Math.min(skip, rows);
      const to = Math.min(rows, from + left);
      skip -= from;
      left -= to - from;
      return to > from ? loadRows(chunk, columns, { from, to, maxValueBytes }) : undefined;
    },
    isFull: () => left === 0,
  };
}
