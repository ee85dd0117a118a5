import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonText } from "../mcp-service.ts";
import { errorText, type RpcError } from "../protocol.ts";

/** A request to the MCP listener, and the response to it. */
export interface McpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The IP address of the client, as reported by a trusted proxy if there is one. */
  readonly address: string;
  /** Scheme and host of the request. */
  readonly origin: string;
  /** The CORS headers of the response, as alternating names and values. */
  readonly headers: readonly string[];
}

const JSON_HEADERS = ["Content-Type", "application/json", "Cache-Control", "no-store"] as const;

/** Sends a complete response with a JSON body. `extraHeaders`: alternating names and values. */
export function sendJson(
  { response, requestId, headers, request }: McpExchange,
  {
    status,
    body,
    extraHeaders = [],
  }: { readonly status: number; readonly body: string | Uint8Array; readonly extraHeaders?: readonly string[] },
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
    ...extraHeaders,
  ]);
  if (request.method === "HEAD") response.end();
  // Passed to `end`, not to `write`: Node then sends headers and a string body together.
  else response.end(body);
}

/** Sends a response without a body. `extraHeaders`: alternating names and values. */
export function sendEmpty(
  { response, requestId, headers }: McpExchange,
  status: number,
  extraHeaders: readonly string[] = [],
): void {
  if (response.destroyed || response.headersSent) return;
  const length = status === 204 ? [] : ["Content-Length", "0"];
  response.writeHead(status, ["X-Request-Id", requestId, ...length, ...headers, ...extraHeaders]).end();
}

/** Sends a JSON-RPC error without an ID, because it does not belong to a particular message. */
export function sendError(
  exchange: McpExchange,
  status: number,
  error: RpcError & { readonly headers?: readonly string[] },
): void {
  sendJson(exchange, { status, body: errorText(undefined, error), extraHeaders: error.headers ?? [] });
}

const STREAM_HEADERS = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  "no-store",
  // Proxies must not buffer the stream.
  "X-Accel-Buffering",
  "no",
] as const;

/** Begins a stream of server-sent events. */
export function beginEvents({ response, requestId, headers }: McpExchange): void {
  response.writeHead(200, [...STREAM_HEADERS, "X-Request-Id", requestId, ...headers]);
  response.flushHeaders();
}

/** A client that does not read the stream is disconnected when more bytes than this are waiting to be sent. */
const MAX_UNREAD_BYTES = 1 << 20;

export function sendEvent({ response }: Pick<McpExchange, "response">, message: JsonText): void {
  if (response.destroyed || response.writableEnded) return;
  response.write(eventOf(message));
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
}

/** A message as a server-sent event. */
export function eventOf(message: JsonText): string {
  return `event: message\ndata: ${message}\n\n`;
}
