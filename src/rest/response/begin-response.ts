import type { ReadResult } from "../../calls/run-endpoint.ts";
import type { Limits, Returns } from "../../config/project.ts";
import type { Eventually } from "../../eventually.ts";
import type { Encoder, Frame, RowFormat } from "../../formats/format.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { sliceChunk } from "../../result/slice-chunk.ts";
import type { Spool } from "../../spool/spool.ts";
import type { SpooledFile } from "../../spool/spooled-file.ts";
import { gatherBuffered } from "./gather-buffered.ts";
import { type CachedResponse, type CachingInfo, type HeaderList, nextPage, responseHeaders } from "./headers.ts";
import { type WholeResponse, wholeResponse } from "./whole-response.ts";

/** A response in a file. */
export interface FileResponse {
  readonly kind: "file";
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly file: SpooledFile;
  /** The ETag, without quotes. Undefined if unknown. */
  readonly tag: string | undefined;
  readonly hasWeakTag?: boolean;
  readonly cached: CachedResponse | undefined;
}

/** A response that is too large to buffer, so it is streamed. */
export interface LongResponse {
  readonly kind: "long";
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly isCompressible: boolean;
  /** The first bytes, if they did not fit in memory. */
  readonly file: SpooledFile | undefined;
  /** Encoded bytes that follow the file. Removed as they are sent. */
  readonly encoded: Uint8Array[];
  readonly rows: ReadResult["rows"];
  /** The encoder for the remaining rows, and the next ones if they have been read. Undefined if all rows are encoded. */
  readonly rest: { readonly encoder: Encoder; readonly chunk: Chunk | undefined } | undefined;
  /** The ETag of the snapshot that the rows come from. */
  readonly tag: string | undefined;
  readonly cached: CachedResponse | undefined;
}

/** A response with rows. Sending it closes its rows and files. */
export type RowsResponse = WholeResponse | LongResponse | FileResponse;

export interface ResponseOptions {
  readonly format: RowFormat;
  readonly codec: string | undefined;
  readonly returns: Returns;
  /** The URL of the request. The link to the next page is derived from it. */
  readonly url: string;
  readonly cachingInfo: CachingInfo;
  readonly limits: Pick<Limits, "maxBufferedBytes">;
  readonly spool: Spool;
  /** Computes an ETag from the request and the version of its data. Undefined if that version is unknown. */
  readonly tagOfData: () => Promise<string | undefined>;
}

/** Responses up to this size are buffered, so that they have a Content-Length. Some formats buffer up to `max-buffered-bytes`. */
const SMALL_BYTES = 64 * 1024;
/** How many rows of the first chunk are encoded first, so that a long response can start before thousands are encoded. */
const FIRST_ROWS = 512;

/** Encodes rows until the last one, or until they are too many to buffer. Closes `rows` unless the response is long. */
export function beginResponse(
  result: Pick<ReadResult, "rows" | "page">,
  options: ResponseOptions,
): Eventually<RowsResponse> {
  const { format, codec } = options;
  const preparing = codec === undefined ? undefined : format.prepare?.(codec);
  if (preparing !== undefined)
    return closeAfter(
      result.rows,
      preparing.then(() => encodeRows(result, options)),
    );
  try {
    const response = encodeRows(result, options);
    if (response instanceof Promise) return closeAfter(result.rows, response);
    const closing = response.kind === "long" ? undefined : result.rows.close();
    return closing instanceof Promise ? closing.then(() => response) : response;
  } catch (error) {
    return closeAfter(result.rows, Promise.reject(error));
  }
}

async function closeAfter(rows: ReadResult["rows"], beginning: Promise<RowsResponse>): Promise<RowsResponse> {
  let isLong = false;
  try {
    const response = await beginning;
    isLong = response.kind === "long";
    return response;
  } finally {
    if (!isLong) await rows.close();
  }
}

function encodeRows(
  { rows, page }: Pick<ReadResult, "rows" | "page">,
  options: ResponseOptions,
): Eventually<RowsResponse> {
  const { format, codec, returns, url, cachingInfo } = options;
  const next = nextPage(page, url);
  const headers = responseHeaders(page, next, cachingInfo);
  const encoder = format.open(rows.columns, returns === "one" ? ONE : frameOf(page, next), codec);
  const begin = format.bufferPolicy === "small" ? beginSmall : beginBuffered;
  return begin(rows, encoder, { headers, options });
}

const ONE: Frame = { kind: "one" };

function frameOf(page: ReadResult["page"], next: string): Frame {
  return page === undefined ? { kind: "rows" } : { kind: "page", next, total: page.total };
}

interface ResponseStart {
  readonly headers: HeaderList;
  readonly options: ResponseOptions;
}

async function beginBuffered(
  rows: ReadResult["rows"],
  encoder: Encoder,
  { headers, options }: ResponseStart,
): Promise<RowsResponse> {
  const { format, limits, spool, tagOfData } = options;
  const { cached } = options.cachingInfo;
  const gathered = await gatherBuffered(encoder, { maxBytes: limits.maxBufferedBytes, spool, next: rows.next });
  switch (gathered.kind) {
    case "in-memory":
      return await wholeResponse(gathered.pieces, gathered.size, { headers, format, cached, tagOfData });
    case "in-file": {
      const { file } = gathered;
      const tag = cached?.tag ?? (await tagOfData());
      const hasWeakTag = cached?.tag === undefined;
      return { kind: "file", headers, contentType: format.contentType, file, tag, hasWeakTag, cached };
    }
    case "too-many": {
      const rest = gathered.allEncoded ? undefined : { encoder, chunk: undefined };
      return longResponse({ file: gathered.file, encoded: gathered.pieces, rows, rest }, { headers, options });
    }
  }
}

/** Stays synchronous as long as `rows.next()` is. */
function beginSmall(rows: ReadResult["rows"], encoder: Encoder, start: ResponseStart): Eventually<RowsResponse> {
  const { headers, options } = start;
  const { format, tagOfData } = options;
  const { cached } = options.cachingInfo;
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (bytes: Uint8Array): boolean => {
    if (bytes.length > 0) pieces.push(bytes);
    size += bytes.length;
    return size <= SMALL_BYTES;
  };
  const toLong = (rest: LongResponse["rest"]): LongResponse =>
    longResponse({ file: undefined, encoded: pieces, rows, rest }, start);
  const addChunk = (chunk: Chunk | undefined, isFirst: boolean): Eventually<RowsResponse> | undefined => {
    if (chunk === undefined) {
      const fits = add(encoder.end());
      return fits ? wholeResponse(pieces, size, { headers, format, cached, tagOfData }) : toLong(undefined);
    }
    const [first, rest] = isFirst ? firstRows(chunk, rows.columns) : [chunk, undefined];
    if (!add(encoder.encode(first))) return toLong({ encoder, chunk: rest });
    if (rest !== undefined && !add(encoder.encode(rest))) return toLong({ encoder, chunk: undefined });
    return undefined;
  };
  const addFrom = (isFirst: boolean): Eventually<RowsResponse> => {
    for (let first = isFirst; ; first = false) {
      const chunk = rows.next();
      if (chunk instanceof Promise) return chunk.then((found) => addChunk(found, first) ?? addFrom(false));
      const response = addChunk(chunk, first);
      if (response !== undefined) return response;
    }
  };
  return addFrom(true);
}

function longResponse(
  body: Pick<LongResponse, "file" | "encoded" | "rows" | "rest">,
  { headers, options: { format, cachingInfo } }: ResponseStart,
): LongResponse {
  const { contentType, compressible } = format;
  const { cached } = cachingInfo;
  return { kind: "long", headers, contentType, isCompressible: compressible, ...body, tag: cached?.tag, cached };
}

function firstRows(chunk: Chunk, columns: readonly Column[]): readonly [Chunk, Chunk | undefined] {
  if (chunk.rows <= FIRST_ROWS) return [chunk, undefined];
  const first = sliceChunk(chunk, columns, { from: 0, to: FIRST_ROWS });
  return [first, sliceChunk(chunk, columns, { from: FIRST_ROWS, to: chunk.rows })];
}
