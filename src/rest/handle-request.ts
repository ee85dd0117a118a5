import type { IncomingMessage, ServerResponse } from "node:http";
import { healthAnswer } from "../admin/health.ts";
import { anonymous } from "../auth/identity.ts";
import { openDeadline } from "../calls/deadline.ts";
import { runEndpoint } from "../calls/run-endpoint.ts";
import { RequestFailure } from "../failure.ts";
import { requestIdOf } from "../http/request-id.ts";
import { failureResponse } from "./failure-response.ts";
import { negotiateFormat } from "./negotiate-format.ts";
import { readParams } from "./read-params/index.ts";
import { splitTarget, type Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import type { Match } from "./route-table.ts";
import { sendOutcome } from "./success-response.ts";

/** One REST request, from headers in to response out. What throws on the way ends in `sendFailure`. READ THIS FIRST. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: RestContext,
): Promise<void> {
  const requestId = requestIdOf(request.headers["x-request-id"]);
  response.setHeader("X-Request-Id", requestId);
  let name = "";
  try {
    const target = splitTarget(request);
    if (answerHealth(target, request, response, context)) return;
    if (context.isDraining()) throw new RequestFailure({ kind: "draining" });
    const found = findEndpoint(target, request, response, context);
    if (found === undefined) return;
    name = found.endpoint.name;
    await answerCall(found, { request, response, target }, context);
  } catch (error) {
    sendFailure(error, { request, response, requestId, endpoint: name }, context);
  }
}

type Found = Extract<Match, { kind: "endpoint" }>;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
}

async function answerCall(found: Found, { request, response, target }: Exchange, context: RestContext): Promise<void> {
  const { endpoint, pathParams, headers } = found;
  const { limits } = context.service;
  const deadline = openDeadline(limits.queryTimeoutMs);
  const leave = (): void => {
    if (!response.writableFinished) deadline.cancel({ kind: "cancelled" });
  };
  context.deadlines.add(deadline);
  response.once("close", leave);
  try {
    const raw = await readParams(request, target, { endpoint, pathParams, headers, maxBodyBytes: limits.maxBodyBytes });
    const format = negotiateFormat(raw);
    const outcome = await runEndpoint(endpoint, { raw, identity: anonymous, deadline }, context.service);
    await sendOutcome(outcome, { request, response, format, deadline, limits });
  } finally {
    context.deadlines.delete(deadline);
    deadline.close();
    response.off("close", leave);
  }
}

function answerHealth(
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
  context: RestContext,
): boolean {
  if (!target.path.startsWith("/health")) return false;
  const answer = healthAnswer(target.path, context.service.sources, context.isDraining());
  if (answer === undefined) return false;
  const allow = ["GET", "HEAD", "OPTIONS"];
  if (!allow.includes(request.method ?? "")) throw new RequestFailure({ kind: "method-not-allowed", allow });
  if (request.method === "OPTIONS") {
    sendOptions(response, allow);
    return true;
  }
  sendJson(response, answer.status, { "Cache-Control": "no-store" }, answer.body);
  return true;
}

/** The endpoint that a request means, or undefined when it has been answered here (OPTIONS). */
function findEndpoint(
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
  context: RestContext,
): Found | undefined {
  const method = request.method ?? "GET";
  const match = context.service.routes.match(method === "HEAD" ? "GET" : method, target.path);
  switch (match.kind) {
    case "endpoint":
      return match;
    case "none":
      throw new RequestFailure({ kind: "not-found" });
    case "other-methods": {
      const allow = [...match.methods, ...(match.methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
      if (method !== "OPTIONS") throw new RequestFailure({ kind: "method-not-allowed", allow });
      sendOptions(response, allow);
      return undefined;
    }
  }
}

function sendOptions(response: ServerResponse, allow: readonly string[]): void {
  response.writeHead(204, { Allow: allow.join(", ") }).end();
}

interface Failed {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly endpoint: string;
}

function sendFailure(
  error: unknown,
  { request, response, requestId, endpoint }: Failed,
  { report }: RestContext,
): void {
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
  sendJson(response, status, { "Cache-Control": "no-store", ...headers }, body);
  discardBody(request, response);
}

/** Half an answer must not look like a whole one: its last chunk never comes. HTTP/1.0 has no chunks, only the reset. */
function cut({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === "1.0" && !socket.destroyed) socket.resetAndDestroy();
  response.destroy();
}

/** A body that is still coming is read and dropped for a moment, so that the client gets to see the answer. */
function discardBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  request.resume();
  if (response.getHeader("connection") === "close") setTimeout(() => request.destroy(), 1_000).unref();
}

function sendJson(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": bytes.length, ...headers });
  response.end(bytes);
}
