import type { IncomingMessage } from "node:http";
import { RequestFailure } from "../../failure.ts";
import type { EndpointExchange, HttpExchange } from "../exchange.ts";
import { negotiateCoding } from "../negotiation/negotiate-coding.ts";
import type { LongResponse, RowsResponse } from "./begin-response.ts";
import { type BodyWriter, openBody, sendText } from "./body-writer.ts";
import type { Compressor } from "./compressors.ts";
import { type CachedResponse, type HeaderList, snapshotHeaders } from "./headers.ts";
import { isGetOrHead, matchesTag } from "./if-none-match.ts";
import { compressBody, type WholeResponse } from "./whole-response.ts";

/** The client has the rows already. */
export interface UnchangedResponse {
  readonly kind: "unchanged";
  readonly headers: HeaderList;
  readonly tag: string | undefined;
  readonly cached: CachedResponse | undefined;
}

/** A successful response of an endpoint. */
export type EndpointResponse = RowsResponse | UnchangedResponse;

const NOTHING = new Uint8Array(0);

/** Sends a response as fast as the client reads it, or 304 when the client has it already. Closes the files and rows of the response. */
export async function sendResponse(response: EndpointResponse, exchange: EndpointExchange): Promise<void> {
  const { request } = exchange;
  try {
    const compressor = isCompressible(response) ? negotiateCoding(request.headers["accept-encoding"]) : undefined;
    const compressed =
      response.kind === "whole" && compressor !== undefined && !clientHas(response, request)
        ? await compressBody(response, compressor)
        : undefined;
    // The client may have disconnected meanwhile.
    if (compressed !== undefined && exchange.response.destroyed) throw new RequestFailure({ kind: "cancelled" });
    const size = compressed?.length ?? sizeOf(response);
    if (!writeHead(response, { size, compressor }, exchange)) return;
    if (compressed === undefined && response.kind === "whole" && response.text !== undefined) {
      return await sendText(response.text, exchange);
    }
    const body = openBody(exchange, compressed === undefined ? compressor : undefined);
    try {
      if (compressed === undefined) await writeBody(response, body);
      else await body.end(compressed);
    } catch (error) {
      body.abort();
      throw error;
    }
  } finally {
    if (response.kind === "file" || response.kind === "long") await response.file?.close();
    if (response.kind === "long") await response.rows.close();
  }
}

/**
 * Sends a short response to a GET synchronously. That takes a quarter less CPU (measured with `bench/against.mjs`). Sends
 * nothing and returns false if the response is not short, or if earlier bytes are still unsent, because the client may be stalled.
 */
export function sendSynchronously(response: WholeResponse, exchange: HttpExchange): boolean {
  const { socket } = exchange.response;
  if (response.text === undefined || socket === null || socket.writableLength > 0) return false;
  if (writeHead(response, { size: response.size, compressor: undefined }, exchange)) {
    exchange.response.end(response.text, "latin1");
  }
  return true;
}

interface BodyCoding {
  readonly size: number | undefined;
  readonly compressor: Compressor | undefined;
}

/** Writes status and headers. Returns false when the response has no body and has ended. */
function writeHead(result: EndpointResponse, { size, compressor }: BodyCoding, exchange: HttpExchange): boolean {
  const { request, response, requestId } = exchange;
  const { tag } = result;
  const headers = [...result.headers, ...snapshotHeaders(result.cached), "X-Request-Id", requestId];
  if (tag !== undefined && isGetOrHead(request)) {
    // Compressed bytes may differ between versions of a compressor. The bytes of a stream are not known yet.
    const isWeak =
      compressor !== undefined || result.kind === "long" || (result.kind !== "unchanged" && result.hasWeakTag === true);
    headers.push("ETag", isWeak ? `W/"${tag}"` : `"${tag}"`);
  }
  if (result.kind === "unchanged" || clientHas(result, request)) {
    response.writeHead(304, headers).end();
    return false;
  }
  headers.push("Content-Type", result.contentType);
  if (compressor !== undefined) headers.push("Content-Encoding", compressor.coding);
  if (size !== undefined) headers.push("Content-Length", String(size));
  response.writeHead((result.kind === "whole" ? result.status : undefined) ?? 200, headers);
  if (request.method !== "HEAD") return true;
  response.end();
  return false;
}

/** Whether the client has the response already. */
function clientHas({ tag }: EndpointResponse, request: IncomingMessage): boolean {
  return tag !== undefined && isGetOrHead(request) && matchesTag(request.headers["if-none-match"], tag);
}

function isCompressible(response: EndpointResponse): boolean {
  switch (response.kind) {
    case "whole":
      return response.compressedBodies !== undefined;
    case "long":
      return response.isCompressible;
    case "file":
    case "unchanged":
      return false;
  }
}

function sizeOf(response: EndpointResponse): number | undefined {
  switch (response.kind) {
    case "whole":
      return response.size;
    case "file":
      return response.file.size;
    case "long":
    case "unchanged":
      return undefined;
  }
}

async function writeBody(response: EndpointResponse, body: BodyWriter): Promise<void> {
  switch (response.kind) {
    case "whole": {
      const last = response.body.length - 1;
      for (let index = 0; index < last; index++) await body.write(response.body[index] ?? NOTHING);
      return body.end(response.body[last] ?? NOTHING);
    }
    case "file":
      for await (const piece of response.file.pieces()) await body.write(piece);
      return body.end(NOTHING);
    case "long":
      return writeLong(response, body);
    case "unchanged":
      return;
  }
}

/** Writes what is encoded already, then encodes and writes the rest chunk by chunk. */
async function writeLong({ file, encoded, rows, rest }: LongResponse, body: BodyWriter): Promise<void> {
  if (file !== undefined) for await (const piece of file.pieces()) await body.write(piece);
  for (let piece = encoded.shift(); piece !== undefined; piece = encoded.shift()) await body.write(piece);
  if (rest === undefined) return body.end(NOTHING);
  const { encoder } = rest;
  if (rest.chunk !== undefined) await body.write(encoder.encode(rest.chunk));
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) {
    await body.write(encoder.encode(chunk));
  }
  await body.end(encoder.end());
}
