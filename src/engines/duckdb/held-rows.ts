import duckdb from "@duckdb/node-bindings";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { sliceChunk } from "../../result/slice-chunk.ts";
import type { Rows, StopSignal, Window } from "../engine.ts";
import { loadChunk } from "./load-vectors.ts";
import { resultColumns } from "./result-columns.ts";

export interface HeldOptions {
  readonly total: number | undefined;
  /** The part of the result that is wanted. */
  readonly window: Window;
  readonly signal: StopSignal;
  readonly watch: Rows["watch"];
}

/** Rows of a result that is complete: several readers can have them. */
export interface HeldRows extends Rows {
  /** The same rows from the start, for another reader. */
  again(signal: StopSignal): HeldRows;
}

export function isHeld(rows: Rows): rows is HeldRows {
  return "again" in rows;
}

export const EVERYTHING: Window = { limit: undefined, offset: 0 };

/** The rows of a result that is complete: it needs its connection no more. */
export function heldRows(result: duckdb.Result, { total, window, signal, watch }: HeldOptions): HeldRows {
  const columns = resultColumns(result);
  const cut = cutTo(window, columns);
  const chunks = duckdb.result_chunk_count(result);
  const loaded: Chunk[] = [];
  let fetched = 0;

  /** Chunk number `index` of those that are wanted; each is loaded once, whoever asks first. */
  function chunkAt(index: number): Chunk | undefined {
    while (loaded.length <= index && fetched < chunks) {
      const chunk = cut.take(duckdb.result_get_chunk(result, fetched++));
      if (chunk !== undefined) loaded.push(chunk);
    }
    return loaded[index];
  }

  function readFor(reader: StopSignal): HeldRows {
    let index = 0;
    return {
      columns,
      total,
      watch,
      async next() {
        if (reader.aborted) throw reader.reason;
        return chunkAt(index++);
      },
      async close() {
        index = Number.POSITIVE_INFINITY;
      },
      again: readFor,
    };
  }
  return readFor(signal);
}

/** Loads the wanted part of the chunks that go by. */
export interface Cut {
  /** Undefined when nothing of the chunk is wanted. */
  take(chunk: duckdb.DataChunk): Chunk | undefined;
  /** Nothing that may follow is wanted. */
  full(): boolean;
}

export function cutTo({ limit, offset }: Window, columns: readonly Column[]): Cut {
  let skip = offset;
  let left = limit ?? Number.POSITIVE_INFINITY;
  return {
    take(chunk) {
      const rows = duckdb.data_chunk_get_size(chunk);
      const from = Math.min(skip, rows);
      const to = Math.min(rows, from + left);
      skip -= from;
      left -= to - from;
      return to > from ? sliceChunk(loadChunk(chunk, columns), columns, { from, to }) : undefined;
    },
    full: () => left === 0,
  };
}
