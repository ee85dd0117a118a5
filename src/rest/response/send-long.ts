import type { EndpointExchange } from "../exchange.ts";
import { negotiateCoding } from "../negotiation/negotiate-coding.ts";
import type { LongResponse } from "./begin-response.ts";
import { type BodyWriter, openBody } from "./body-writer.ts";
import { snapshotHeaders } from "./headers.ts";
import { isRead } from "./if-none-match.ts";

const NOTHING = new Uint8Array(0);

/** Sends what is there and then the rest, as it comes: never all of it in memory. Closes the rows. */
export async function sendLong(answer: LongResponse, exchange: EndpointExchange): Promise<void> {
  const { request, response, requestId } = exchange;
  const { format, rows, file } = answer;
  try {
    const compressor = format.compressible ? negotiateCoding(request.headers["accept-encoding"]) : undefined;
    const headers = [...answer.headers, ...snapshotHeaders(answer.cached), "X-Request-Id", requestId];
    headers.push("Content-Type", format.contentType);
    // The bytes themselves are not known yet; the rows that they come from are.
    if (answer.cached?.tag !== undefined && isRead(request)) headers.push("ETag", `W/"${answer.cached.tag}"`);
    if (compressor !== undefined) headers.push("Content-Encoding", compressor.coding);
    response.writeHead(200, headers);
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    const body = openBody(exchange, compressor);
    try {
      await writeAll(answer, body, exchange);
    } catch (error) {
      body.abort();
      throw error;
    }
  } finally {
    await file?.close();
    await rows.close();
  }
}

async function writeAll(
  { file, begun, rows, rest }: LongResponse,
  body: BodyWriter,
  { deadline }: EndpointExchange,
): Promise<void> {
  if (file !== undefined) for await (const piece of file.pieces()) await body.write(piece);
  for (let piece = begun.shift(); piece !== undefined; piece = begun.shift()) await body.write(piece);
  if (rest === undefined) return body.end(NOTHING);
  const { encoder } = rest;
  if (rest.chunk !== undefined) await body.write(encoder.encode(rest.chunk));
  const next = () => rows.next();
  for (let chunk = await deadline.spend(next); chunk !== undefined; chunk = await deadline.spend(next)) {
    await body.write(encoder.encode(chunk));
  }
  await body.end(encoder.end());
}
