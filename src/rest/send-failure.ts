import type { IncomingMessage, ServerResponse } from "node:http";
import type { ResponseProgress } from "../calls/run-call.ts";
import type { AccessConfig } from "../config/access-config.ts";
import type { Failure } from "../failure.ts";
import { failureResponse } from "../failure-response.ts";
import { resetConnection } from "../http/reset.ts";
import type { HttpExchange } from "./exchange.ts";
import { preflightHeaders } from "./https-and-cors.ts";
import type { CachingRules } from "./response/headers.ts";

/** Sends a failure, or aborts a response that has begun. `caching` is absent when the request reached no endpoint. */
export function sendFailure(failure: Failure, exchange: HttpExchange, caching?: CachingRules): void {
  const { request, response } = exchange;
  const progress = progressOf(response);
  if (progress === "begun") abortResponse(request, response);
  if (progress !== "none") return;
  const { status, headers, body } = failureResponse(failure);
  const vary = caching === undefined ? {} : { Vary: caching.vary };
  sendJson(exchange, { status, headers: { "Cache-Control": "no-store", ...vary, ...headers }, body });
}

/** How much of a response has been sent. After a disconnect, it counts as begun. */
export function progressOf(response: ServerResponse): ResponseProgress {
  if (response.writableFinished) return "complete";
  return response.headersSent || response.destroyed ? "begun" : "none";
}

export function sendOptionsResponse(
  { request, response, requestId }: HttpExchange,
  allow: readonly string[],
  access: AccessConfig,
): void {
  for (const [name, value] of preflightHeaders(request, allow, access)) response.setHeader(name, value);
  response.writeHead(204, { Allow: allow.join(", "), "X-Request-Id": requestId }).end();
}

interface JsonResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export function sendJson({ response, requestId }: HttpExchange, { status, headers, body }: JsonResponse): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": bytes.length,
    "X-Request-Id": requestId,
    ...headers,
  });
  response.end(bytes);
}

/** A partial response must not look complete, so its last chunk is never sent. HTTP/1.0 has no chunks and needs a reset. */
function abortResponse({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === "1.0" && !socket.destroyed) resetConnection(socket);
  response.destroy();
}
