import { logMessage, RequestFailure } from "../failure.ts";

/** Turns an error of a refresh into a RequestFailure. Other errors are bugs, reported as `internal`. */
export function asFailure(error: unknown): RequestFailure {
  return error instanceof RequestFailure ? error : new RequestFailure({ kind: "internal" }, { cause: error });
}

/** Why a refresh failed, for logs. */
export function reasonOf({ failure, cause }: RequestFailure): string {
  if (failure.kind === "query-failed") return logMessage(failure);
  // The template's message may contain values of a request.
  if (failure.kind === "refused-by-template") return `the template refused with status ${failure.status}`;
  if (failure.kind === "connection-down") return `connection '${failure.connection}' cannot be reached`;
  return failure.kind === "internal" && cause instanceof Error ? `internal: ${cause.message}` : failure.kind;
}
