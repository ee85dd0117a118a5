import { openLru } from "../../../bounded/lru.ts";
import type { Eventually } from "../../../eventually.ts";
import { type Chunk, chunkBytes } from "../../../result/chunk.ts";
import type { Column } from "../../../result/column.ts";
import { sliceChunk } from "../../../result/slice-chunk.ts";
import type { Read, StopSignal, Window } from "../../engine.ts";
import type { Rows, WatchedData } from "../../rows.ts";
import { statementKey } from "./read-key.ts";

/**
 * Reads pages ahead. A client that reads a second page often reads the next ones too, and the database has to skip the rows before
 * each of them. So several pages are read at once, and kept until their tables change.
 */
export interface ReadAhead {
  /** The rows of a page. Undefined if the page must be read on its own. */
  read(read: Read): Eventually<Rows | undefined>;
}

export interface ReadAheadOptions {
  readonly read: (read: Read) => Promise<Rows>;
  /** Whether changes to the rows of a query can be detected. */
  readonly isWatched: (sql: string) => boolean;
}

/** Consecutive rows of a query. */
interface Part {
  readonly columns: readonly Column[];
  readonly chunks: readonly Chunk[];
  readonly total: number | undefined;
  readonly data: WatchedData;
  readonly bytes: number;
}

/** Together they are one chunk of DuckDB. A page begins in the first rows of its part, and ends in the last at the latest. */
const FIRST_ROWS = 1548;
const MAX_PAGE_ROWS = 500;

/** Room for about eighty parts of 200 bytes per row. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_PART_BYTES = 2 * 1024 * 1024;
const MAX_QUERY_BYTES = 4 * 1024 * 1024;

export function openReadAhead(options: ReadAheadOptions): ReadAhead {
  const parts = openLru<Part>({ maxBytes: MAX_BYTES, maxEntryBytes: MAX_PART_BYTES, bytesOf: ({ bytes }) => bytes });
  /** Queries whose rows are too long to keep. */
  const longRows = openLru<true>({ maxBytes: MAX_QUERY_BYTES });

  async function readPart(read: Read, start: number): Promise<Part | undefined> {
    const rows = await options.read({ ...read, window: { limit: FIRST_ROWS + MAX_PAGE_ROWS, offset: start } });
    try {
      const chunks: Chunk[] = [];
      let bytes = 0;
      for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) {
        bytes += chunkBytes(chunk);
        if (bytes > MAX_PART_BYTES) return undefined;
        chunks.push(chunk);
      }
      const data = await rows.watch();
      return data && { columns: rows.columns, chunks, total: rows.total, data, bytes };
    } finally {
      await rows.close();
    }
  }

  return {
    read(read) {
      const { statements, totalOf, window } = read;
      const [only] = statements;
      if (only === undefined || statements.length > 1 || (totalOf !== undefined && totalOf !== statements))
        return undefined;
      if (window?.limit === undefined || window.limit > MAX_PAGE_ROWS || !options.isWatched(only.sql)) return undefined;
      const { limit, offset } = window;
      // Most calls read only the first page.
      if (offset === 0) return undefined;
      const query = `${totalOf === undefined ? "" : "total"}\0${read.connections.join("\0")}\0\0${statementKey(only)}`;
      if (longRows.get(query) === true) return undefined;
      const start = Math.floor(offset / FIRST_ROWS) * FIRST_ROWS;
      const key = `${start}\0${query}`;
      const known = parts.get(key);
      const wanted = { limit, offset: offset - start };
      if (known?.data.isUnchanged()) return pageOf(known, wanted, read.signal);
      return readPart(read, start).then((part) => {
        if (part === undefined) {
          longRows.set(query, true);
          return undefined;
        }
        if (part.data.isUnchanged()) parts.set(key, part);
        return pageOf(part, wanted, read.signal);
      });
    },
  };
}

function pageOf({ columns, chunks, total, data }: Part, { limit = 0, offset }: Window, signal: StopSignal): Rows {
  let index = 0;
  /** The first row of the chunk at `index`, counted from the start of the part. */
  let start = 0;
  return {
    columns,
    total,
    watch: () => Promise.resolve(data),
    next() {
      if (signal.aborted) throw signal.reason;
      for (let chunk = chunks[index++]; chunk !== undefined; chunk = chunks[index++]) {
        const from = Math.max(0, offset - start);
        const to = Math.min(chunk.rows, offset + limit - start);
        start += chunk.rows;
        if (from < to) return sliceChunk(chunk, columns, { from, to });
      }
      return undefined;
    },
    close() {
      index = chunks.length;
    },
  };
}
