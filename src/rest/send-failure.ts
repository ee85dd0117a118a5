import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestFailure } from "../failure.ts";
import { resetConnection } from "../http/reset.ts";
import type { EndpointExchange } from "./exchange.ts";
import { failureResponse } from "./failure-response.ts";
import { preflightHeaders } from "./https-and-cors.ts";
import type { CachingRules } from "./response/headers.ts";
import type { RestContext } from "./rest-app.ts";

/** Who asks, before it is known what for. */
export type HttpExchange = Pick<EndpointExchange, "request" | "response" | "requestId">;

/** The request that failed. `endpoint` is empty, and `caching` absent, when it did not reach an endpoint. */
interface FailedRequest extends HttpExchange {
  readonly endpoint: string;
  readonly caching: CachingRules | undefined;
}

/** Sends what went wrong. */
export function sendFailure(
  error: unknown,
  { endpoint, caching, ...asked }: FailedRequest,
  { report }: RestContext,
): void {
  const { request, response, requestId } = asked;
  const failure = error instanceof RequestFailure ? error.failure : ({ kind: "internal" } as const);
  if (failure.kind === "internal") report({ kind: "unexpected", requestId, error });
  if (response.headersSent || response.destroyed) {
    if (!response.writableFinished) {
      if (failure.kind !== "cancelled") report({ kind: "call-cut", requestId, endpoint, failure });
      cut(request, response);
    }
    return;
  }
  report({
    kind: "call-failed",
    requestId,
    endpoint,
    failure,
    cause: error instanceof Error ? error.cause : undefined,
  });
  const { status, headers, body } = failureResponse(failure);
  const varies = caching === undefined ? {} : { Vary: caching.vary };
  sendJson(asked, { status, headers: { "Cache-Control": "no-store", ...varies, ...headers }, body });
}

export function sendOptions(
  { request, response, requestId }: HttpExchange,
  allow: readonly string[],
  context: RestContext,
): void {
  for (const [name, value] of preflightHeaders(request, allow, context)) response.setHeader(name, value);
  response.writeHead(204, { Allow: allow.join(", "), "X-Request-Id": requestId }).end();
}

export function sendJson(
  { response, requestId }: HttpExchange,
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown },
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": bytes.length,
    "X-Request-Id": requestId,
    ...headers,
  });
  response.end(bytes);
}

/** Half an answer must not look like a whole one: its last chunk never comes. HTTP/1.0 has no chunks, only the reset. */
function cut({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === "1.0" && !socket.destroyed) resetConnection(socket);
  response.destroy();
}
