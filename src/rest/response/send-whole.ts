import { RequestFailure } from "../../failure.ts";
import type { EndpointExchange } from "../exchange.ts";
import { negotiateCoding } from "../negotiation/negotiate-coding.ts";
import { plainBody, sendText } from "./body-writer.ts";
import { type HeaderList, snapshotHeaders } from "./headers.ts";
import { hasCurrent, isRead } from "./if-none-match.ts";
import { packBody, type WholeResponse } from "./whole-response.ts";

const NOTHING = new Uint8Array(0);

/**
 * Sends a short answer to a GET without waiting for anything, which takes a third less time. False, and nothing is sent,
 * when somebody must watch over it: the client has not even taken what it was sent before.
 */
export function sendAtOnce(
  answer: WholeResponse,
  { request, response, requestId }: Pick<EndpointExchange, "request" | "response" | "requestId">,
): boolean {
  if (answer.text === undefined || response.socket === null || response.socket.writableLength > 0) return false;
  const headers = [
    ...answer.headers,
    ...snapshotHeaders(answer.cached),
    "X-Request-Id",
    requestId,
    "ETag",
    `"${answer.tag}"`,
  ];
  if (hasCurrent(request.headers["if-none-match"], answer.tag)) {
    response.writeHead(304, headers).end();
    return true;
  }
  headers.push("Content-Type", answer.contentType, "Content-Length", String(answer.size));
  response.writeHead(200, headers);
  if (request.method === "HEAD") response.end();
  else response.end(answer.text, "latin1");
  return true;
}

/** Sends an answer, or says that the client has it already. */
export async function sendWhole(answer: WholeResponse, exchange: EndpointExchange): Promise<void> {
  const { request, response, requestId } = exchange;
  const compressor = answer.packed === undefined ? undefined : negotiateCoding(request.headers["accept-encoding"]);
  const headers = [...answer.headers, ...snapshotHeaders(answer.cached), "X-Request-Id", requestId];
  if (isRead(request)) {
    const tag = `"${answer.tag}"`;
    // Packed bytes may differ between versions of a compressor; what is inside does not.
    headers.push("ETag", compressor === undefined ? tag : `W/${tag}`);
    if (hasCurrent(request.headers["if-none-match"], answer.tag)) {
      response.writeHead(304, headers).end();
      return;
    }
  }
  headers.push("Content-Type", answer.contentType);
  if (compressor === undefined) await sendBody(answer, headers, exchange);
  else
    await sendPacked(await packBody(answer, compressor), [...headers, "Content-Encoding", compressor.coding], exchange);
}

async function sendPacked(bytes: Uint8Array, headers: HeaderList, exchange: EndpointExchange): Promise<void> {
  // The client may have left meanwhile.
  if (exchange.response.destroyed) throw new RequestFailure({ kind: "cancelled" });
  await sendBody({ body: [bytes], size: bytes.length }, headers, exchange);
}

async function sendBody(
  { body, text, size }: Pick<WholeResponse, "body" | "text" | "size">,
  headers: HeaderList,
  exchange: EndpointExchange,
): Promise<void> {
  const { request, response } = exchange;
  response.writeHead(200, [...headers, "Content-Length", String(size)]);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  if (text !== undefined) return sendText(text, exchange);
  const writer = plainBody(exchange);
  const last = body.length - 1;
  for (let index = 0; index < last; index++) await writer.write(body[index] ?? NOTHING);
  await writer.end(body[last] ?? NOTHING);
}
