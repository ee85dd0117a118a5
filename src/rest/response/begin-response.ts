import type { ReadResult } from "../../calls/run-endpoint.ts";
import type { Limits } from "../../config/project.ts";
import type { Encoder, Frame, RowFormat } from "../../formats/format.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { sliceChunk } from "../../result/slice-chunk.ts";
import type { Spool } from "../../spool/spool.ts";
import type { SpooledFile } from "../../spool/spooled-file.ts";
import { gatherBuffered } from "./gather-buffered.ts";
import { type CachedResponse, type HeaderList, nextPage, responseHeaders, type Sharing } from "./headers.ts";
import { type WholeResponse, wholeResponse } from "./whole-response.ts";

/** A response in a file. */
export interface FileResponse {
  readonly kind: "file";
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly file: SpooledFile;
  /** Names exactly these bytes, where that is known; an ETag without its quotes. */
  readonly tag: string | undefined;
  readonly cached: CachedResponse | undefined;
}

/** A response too large to be held: it is streamed. */
export interface LongResponse {
  readonly kind: "long";
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly isCompressible: boolean;
  /** The first bytes, where they are many. */
  readonly file: SpooledFile | undefined;
  /** Bytes that have been encoded, removed as they are sent. */
  readonly begun: Uint8Array[];
  readonly rows: ReadResult["rows"];
  /** Encodes the rows that follow. Absent: all have been encoded. */
  readonly rest: { readonly encoder: Encoder; readonly chunk: Chunk | undefined } | undefined;
  /** Of the snapshot that the rows come from. */
  readonly tag: string | undefined;
  readonly cached: CachedResponse | undefined;
}

/** A response with rows. Who holds it sends it, which closes what it holds. */
export type RowsResponse = WholeResponse | LongResponse | FileResponse;

/** What an answer depends on. */
export interface Recipe {
  readonly format: RowFormat;
  readonly codec: string | undefined;
  /** Of the request: the next page's address is made of it. */
  readonly url: string;
  readonly sharing: Sharing;
  readonly limits: Pick<Limits, "maxBufferedBytes">;
  readonly spool: Spool;
}

/** Where a format does not ask for more, an answer up to this size is sent with its length. */
const SMALL_BYTES = 64 * 1024;
/** A long answer begins with so few rows that its first bytes do not wait for the encoding of thousands. */
const FIRST_ROWS = 512;

/** Makes bytes of rows until they end or are too many to be held. Rows of a whole answer are closed. */
export async function beginResponse(
  { rows, page }: Pick<ReadResult, "rows" | "page">,
  recipe: Recipe,
): Promise<RowsResponse> {
  let isLong = false;
  try {
    const next = nextPage(page, recipe.url);
    const headers = responseHeaders(page, next, recipe.sharing);
    const { format, codec } = recipe;
    if (codec !== undefined) await format.prepare?.(codec);
    const encoder = format.open(rows.columns, frameOf(page, next), codec);
    const answer =
      format.bufferPolicy === "small"
        ? await beginSmall(rows, encoder, { headers, recipe })
        : await beginBuffered(rows, encoder, { headers, recipe });
    isLong = answer.kind === "long";
    return answer;
  } finally {
    if (!isLong) await rows.close();
  }
}

function frameOf(page: ReadResult["page"], next: string): Frame {
  return page === undefined ? { kind: "rows" } : { kind: "page", next, total: page.total };
}

interface Beginning {
  readonly headers: HeaderList;
  readonly recipe: Recipe;
}

async function beginBuffered(
  rows: ReadResult["rows"],
  encoder: Encoder,
  { headers, recipe }: Beginning,
): Promise<RowsResponse> {
  const { format, limits, spool } = recipe;
  const { cached } = recipe.sharing;
  const gathered = await gatherBuffered(encoder, { maxBytes: limits.maxBufferedBytes, spool, next: rows.next });
  switch (gathered.kind) {
    case "in-memory":
      return await wholeResponse(gathered.pieces, gathered.size, { headers, format, cached });
    case "in-file": {
      const { file } = gathered;
      const tag = cached?.tag ?? gathered.tag;
      return { kind: "file", headers, contentType: format.contentType, file, tag, cached };
    }
    case "too-many": {
      const rest = gathered.ended ? undefined : { encoder, chunk: undefined };
      return longResponse({ file: gathered.file, begun: gathered.pieces, rows, rest }, { headers, recipe });
    }
  }
}

async function beginSmall(rows: ReadResult["rows"], encoder: Encoder, beginning: Beginning): Promise<RowsResponse> {
  const { headers, recipe } = beginning;
  const { format } = recipe;
  const { cached } = recipe.sharing;
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (bytes: Uint8Array): boolean => {
    if (bytes.length > 0) pieces.push(bytes);
    size += bytes.length;
    return size <= SMALL_BYTES;
  };
  const long = (rest: LongResponse["rest"]): LongResponse =>
    longResponse({ file: undefined, begun: pieces, rows, rest }, beginning);
  for (let isFirst = true; ; isFirst = false) {
    const chunk = await rows.next();
    if (chunk === undefined) {
      const fits = add(encoder.end());
      return fits ? await wholeResponse(pieces, size, { headers, format, cached }) : long(undefined);
    }
    const [first, rest] = isFirst ? firstRows(chunk, rows.columns) : [chunk, undefined];
    if (!add(encoder.encode(first))) return long({ encoder, chunk: rest });
    if (rest !== undefined && !add(encoder.encode(rest))) return long({ encoder, chunk: undefined });
  }
}

function longResponse(
  body: Pick<LongResponse, "file" | "begun" | "rows" | "rest">,
  { headers, recipe: { format, sharing } }: Beginning,
): LongResponse {
  const { contentType, compressible } = format;
  const { cached } = sharing;
  return { kind: "long", headers, contentType, isCompressible: compressible, ...body, tag: cached?.tag, cached };
}

function firstRows(chunk: Chunk, columns: readonly Column[]): readonly [Chunk, Chunk | undefined] {
  if (chunk.rows <= FIRST_ROWS) return [chunk, undefined];
  const first = sliceChunk(chunk, columns, { from: 0, to: FIRST_ROWS });
  return [first, sliceChunk(chunk, columns, { from: FIRST_ROWS, to: chunk.rows })];
}
