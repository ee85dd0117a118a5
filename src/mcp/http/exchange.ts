import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonText } from "../mcp-service.ts";
import { errorText, type RpcError } from "../protocol.ts";

/** One HTTP request and the way to answer it. */
export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Who sent it, as far as a trusted proxy tells. */
  readonly address: string;
  /** Scheme and host by which it came. */
  readonly origin: string;
  /** Headers of every answer, as names and values in turn: what lets a page read it. */
  readonly headers: readonly string[];
}

const JSON_HEADERS = ["Content-Type", "application/json", "Cache-Control", "no-store"] as const;

/** Sends a whole answer; `headers` are names and values in turn. */
export function sendJson(
  { response, requestId, headers, request }: McpExchange,
  {
    status,
    body,
    more = [],
  }: { readonly status: number; readonly body: string | Uint8Array; readonly more?: readonly string[] },
): void {
  if (response.destroyed || response.headersSent) return;
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  response.writeHead(status, [
    ...JSON_HEADERS,
    "Content-Length",
    String(length),
    "X-Request-Id",
    requestId,
    ...headers,
    ...more,
  ]);
  if (request.method === "HEAD") response.end();
  // Node writes the head and a text as one.
  else response.end(body);
}

export function sendEmpty(
  { response, requestId, headers }: McpExchange,
  status: number,
  more: readonly string[] = [],
): void {
  if (response.destroyed || response.headersSent) return;
  const length = status === 204 ? [] : ["Content-Length", "0"];
  response.writeHead(status, ["X-Request-Id", requestId, ...length, ...headers, ...more]).end();
}

/** An error before any message was read. */
export function sendError(
  exchange: McpExchange,
  status: number,
  error: RpcError & { readonly headers?: readonly string[] },
): void {
  sendJson(exchange, { status, body: errorText(undefined, error), more: error.headers ?? [] });
}

const STREAM_HEADERS = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  "no-store",
  // A proxy that gathers what comes would keep it from the client.
  "X-Accel-Buffering",
  "no",
] as const;

export function beginEvents({ response, requestId, headers }: McpExchange): void {
  response.writeHead(200, [...STREAM_HEADERS, "X-Request-Id", requestId, ...headers]);
  response.flushHeaders();
}

/** What a client may leave unread before it is given up. */
const MAX_UNREAD_BYTES = 1 << 20;

export function sendEvent({ response }: Pick<McpExchange, "response">, message: JsonText): void {
  if (response.destroyed || response.writableEnded) return;
  response.write(eventOf(message));
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
}

export function eventOf(message: JsonText): string {
  return `event: message\ndata: ${message}\n\n`;
}
