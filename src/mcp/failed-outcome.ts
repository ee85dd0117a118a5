import type { Report } from "../events.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import { errorText, failureResponse } from "../failure-response.ts";
import { McpError, type McpProblem } from "./mcp-service.ts";
import { CODE, type Era, type MessageResult, type Refusal, type RpcError, RpcFailure } from "./protocol.ts";

/** What a client is told of something that a method threw. What nobody expected is reported, and the client learns nothing of it. */
export function rpcErrorOf(
  error: unknown,
  { era, requestId }: { readonly era: Era; readonly requestId: string },
  { report }: { readonly report: Report },
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
  return refusedOutcome({ kind: "draining" }, []);
}

/** A method that the client may not use. The code of the error is the HTTP status. */
export function refusedOutcome(failure: Failure, challenges: readonly string[]): Refusal {
  const response = failureResponse(failure);
  const { "WWW-Authenticate": _basic, ...others } = response.headers;
  // In one line: of two headers with the same name Node keeps the last where some have been set before.
  const headers = challenges.length === 0 ? others : { "WWW-Authenticate": challenges.join(", "), ...others };
  const { status } = response;
  const error = { code: status, message: errorText(response) };
  return { kind: "refused", status, error, headers: Object.entries(headers).flat() };
}
