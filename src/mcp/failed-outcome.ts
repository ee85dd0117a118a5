import { type Failure, RequestFailure } from "../failure.ts";
import type { McpCore } from "./core.ts";
import { McpError, type McpProblem } from "./mcp-service.ts";
import { CODE, type Era, type MessageResult, type Refusal, type RpcError, RpcFailure } from "./protocol.ts";

/** What a client is told of something that a method threw. What nobody expected is reported, and the client learns nothing of it. */
export function rpcErrorOf(
  error: unknown,
  { era, requestId }: { readonly era: Era; readonly requestId: string },
  { report }: Pick<McpCore, "report">,
): RpcError {
  if (error instanceof RpcFailure) return error.error;
  if (error instanceof McpError) return problemError(error.problem, era);
  report({ kind: "unexpected", requestId, error });
  return { code: CODE.internal, message: "Internal error" };
}

function problemError(problem: McpProblem, era: Era): RpcError {
  switch (problem.kind) {
    case "unknown-name":
    case "invalid-params":
      return { code: CODE.invalidParams, message: problem.message };
    case "resource-not-found": {
      const code = era === "legacy" ? CODE.resourceNotFound : CODE.invalidParams;
      return { code, message: "Resource not found", data: JSON.stringify({ uri: problem.uri }) };
    }
    case "internal":
      return { code: CODE.internal, message: problem.message };
  }
}

/** A call whose signal was given: the client called it off, or the service stops. */
export function stoppedOutcome(reason: unknown): MessageResult {
  const failure = reason instanceof RequestFailure ? reason.failure : undefined;
  return failure?.kind === "cancelled" ? { kind: "cancelled" } : stopping();
}

export function stopping(): Refusal {
  const error = { code: 503, message: "Service Unavailable: the service is stopping" };
  return { kind: "refused", status: 503, error, headers: ["Retry-After", "1", "Connection", "close"] };
}

/** Whoever may not use a method. It is HTTP that says so; the code is its status. */
export function refusedOutcome(failure: Failure, challenges: readonly string[]): Refusal {
  // In one line: of two with the same name Node keeps the last where others have set headers before.
  const headers = challenges.length === 0 ? [] : ["WWW-Authenticate", challenges.join(", ")];
  const refused = (status: number, message: string, more: readonly string[] = []): Refusal => ({
    kind: "refused",
    status,
    error: { code: status, message },
    headers: [...headers, ...more],
  });
  switch (failure.kind) {
    case "unauthorized":
      return refused(401, "Unauthorized");
    case "too-many-requests":
      return refused(429, "Too Many Requests", ["Retry-After", String(failure.retryAfterSeconds)]);
    case "provider-down":
      return refused(503, "Service Unavailable: the identity provider cannot be reached", ["Retry-After", "1"]);
    case "connection-down":
      return refused(503, `Service Unavailable: connection '${failure.connection}' cannot be reached`, [
        "Retry-After",
        "1",
      ]);
    case "overloaded":
      return refused(503, "Service Unavailable: too many requests are waiting", ["Retry-After", "1"]);
    case "draining":
      return stopping();
    case "https-required":
      return refused(403, "Forbidden: HTTPS is required");
    case "refused-by-template":
      return refused(failure.status, failure.message);
    case "invalid-params":
    case "unsupported-body-type":
    case "not-acceptable":
    case "key-reused":
    case "key-refused":
    case "conflict":
      return refused(403, "Forbidden");
    case "body-too-large":
      return refused(413, "Request body is too large", ["Connection", "close"]);
    case "not-found":
      return refused(404, "Not Found");
    case "method-not-allowed":
      return refused(405, "Method Not Allowed", ["Allow", failure.allow.join(", ")]);
    case "query-timeout":
      return refused(504, "Gateway Timeout");
    case "cancelled":
      return refused(499, "Client Closed Request");
    case "query-failed":
    case "internal":
      return refused(500, "Internal error");
  }
}
