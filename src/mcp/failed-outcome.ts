import type { Report } from "../events.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import { errorText, failureResponse } from "../failure-response.ts";
import { McpError, type McpProblem } from "./mcp-service.ts";
import { CODE, type MessageResult, type ProtocolKind, type Refusal, type RpcError, RpcFailure } from "./protocol.ts";

/** Converts an error that a method threw. Unexpected errors are reported but not shown to clients. */
export function rpcErrorOf(
  error: unknown,
  { protocol, requestId }: { readonly protocol: ProtocolKind; readonly requestId: string },
  { report }: { readonly report: Report },
): RpcError {
  if (error instanceof RpcFailure) return error.error;
  if (error instanceof McpError) return problemError(error.problem, protocol);
  report({ kind: "unexpected", requestId, error });
  return { code: CODE.internal, message: "Internal error" };
}

function problemError(problem: McpProblem, protocol: ProtocolKind): RpcError {
  switch (problem.kind) {
    case "unknown-name":
    case "invalid-params":
      return { code: CODE.invalidParams, message: problem.message };
    case "resource-not-found": {
      const code = protocol === "legacy" ? CODE.resourceNotFound : CODE.invalidParams;
      return { code, message: "Resource not found", data: JSON.stringify({ uri: problem.uri }) };
    }
    case "internal":
      return { code: CODE.internal, message: problem.message };
  }
}

/** The result of a call that was stopped: the client cancelled it, or the service is shutting down. */
export function stoppedResult(reason: unknown): MessageResult {
  const failure = reason instanceof RequestFailure ? reason.failure : undefined;
  return failure?.kind === "cancelled" ? { kind: "cancelled" } : drainingRefusal();
}

export function drainingRefusal(): Refusal {
  return accessRefusal({ kind: "draining" }, []);
}

/** Rejects a method that the client may not use. The error code is the HTTP status. */
export function accessRefusal(failure: Failure, challenges: readonly string[]): Refusal {
  const response = failureResponse(failure);
  const { "WWW-Authenticate": _basic, ...others } = response.headers;
  // Joined, because Node may keep only the last of several headers with the same name.
  const headers = challenges.length === 0 ? others : { "WWW-Authenticate": challenges.join(", "), ...others };
  const { status } = response;
  const error = { code: status, message: errorText(response) };
  return { kind: "refused", status, error, headers: Object.entries(headers).flat() };
}
