import type { Deadline } from "../../calls/deadline.ts";
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
import type { FileResponse } from "./send-file.ts";
import { type WholeResponse, wholeResponse } from "./whole-response.ts";

/** An answer of which more is held than may be: it is streamed. Whoever has it closes its rows. */
export interface LongResponse {
  readonly kind: "long";
  readonly headers: HeaderList;
  readonly format: RowFormat;
  /** The first bytes, where they are many. */
  readonly file: SpooledFile | undefined;
  /** Bytes that are there already, taken out as they are sent. */
  readonly begun: Uint8Array[];
  readonly rows: ReadResult["rows"];
  /** What makes bytes of the rows that follow; absent: all are there. */
  readonly rest: { readonly encoder: Encoder; readonly chunk: Chunk | undefined } | undefined;
  readonly cached: CachedResponse | undefined;
}

export type ResponseContext = WholeResponse | LongResponse | FileResponse;

/** What an answer depends on. */
export interface Recipe {
  readonly format: RowFormat;
  readonly codec: string | undefined;
  /** Of the request: the next page's address is made of it. */
  readonly url: string;
  readonly sharing: Sharing;
  readonly deadline: Deadline;
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
): Promise<ResponseContext> {
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
): Promise<ResponseContext> {
  const { format, deadline, limits, spool } = recipe;
  const { cached } = recipe.sharing;
  const next = (): Promise<Chunk | undefined> => rows.next();
  const gathered = await gatherBuffered(encoder, {
    maxBytes: limits.maxBufferedBytes,
    spool,
    next: () => deadline.spend(next),
  });
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
      return { kind: "long", headers, format, file: gathered.file, begun: gathered.pieces, rows, rest, cached };
    }
  }
}

async function beginSmall(
  rows: ReadResult["rows"],
  encoder: Encoder,
  { headers, recipe: { format, deadline, sharing } }: Beginning,
): Promise<ResponseContext> {
  const { cached } = sharing;
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (bytes: Uint8Array): boolean => {
    if (bytes.length > 0) pieces.push(bytes);
    size += bytes.length;
    return size <= SMALL_BYTES;
  };
  const long = (rest: LongResponse["rest"]): LongResponse => ({
    kind: "long",
    headers,
    format,
    file: undefined,
    begun: pieces,
    rows,
    rest,
    cached,
  });
  const next = (): Promise<Chunk | undefined> => rows.next();
  for (let isFirst = true; ; isFirst = false) {
    const chunk = await deadline.spend(next);
    if (chunk === undefined) {
      const fits = add(encoder.end());
      return fits ? await wholeResponse(pieces, size, { headers, format, cached }) : long(undefined);
    }
    const [first, rest] = isFirst ? firstRows(chunk, rows.columns) : [chunk, undefined];
    if (!add(encoder.encode(first))) return long({ encoder, chunk: rest });
    if (rest !== undefined && !add(encoder.encode(rest))) return long({ encoder, chunk: undefined });
  }
}

function firstRows(chunk: Chunk, columns: readonly Column[]): readonly [Chunk, Chunk | undefined] {
  if (chunk.rows <= FIRST_ROWS) return [chunk, undefined];
  const first = sliceChunk(chunk, columns, { from: 0, to: FIRST_ROWS });
  return [first, sliceChunk(chunk, columns, { from: FIRST_ROWS, to: chunk.rows })];
}
