import type { Limits } from "../../config/project.ts";
import type { Failure } from "../../failure.ts";

/** A failure in words that a language model can act on, and the status that HTTP would have for it. */
export interface ReportedFailure {
  readonly text: string;
  readonly status: number;
}

export function tellFailure(failure: Failure, { queryTimeoutMs }: Pick<Limits, "queryTimeoutMs">): ReportedFailure {
  switch (failure.kind) {
    case "invalid-params":
      return { status: 400, text: failure.errors.map(({ field, message }) => `${field}: ${message}`).join("\n") };
    case "query-failed":
      return { status: 500, text: `Query failed: ${failure.message}` };
    case "refused-by-template":
      return { status: failure.status, text: failure.message };
    case "query-timeout":
      return {
        status: 504,
        text: `The query took longer than ${queryTimeoutMs / 1000} s, which is the limit; ask for less with narrower filters`,
      };
    case "too-many-requests":
      return { status: 429, text: `Rate limit exceeded, retry in ${failure.retryAfterSeconds} s` };
    case "connection-down":
      return {
        status: 503,
        text: `The data source '${failure.connection}' cannot be reached at the moment; try again later`,
      };
    case "overloaded":
      return { status: 503, text: "Too many requests are waiting; try again in a few seconds" };
    case "draining":
      return { status: 503, text: "The service is stopping; try again in a few seconds" };
    case "conflict":
      return { status: 409, text: "Others are changing the same rows, nothing was changed; try again" };
    case "cancelled":
      return { status: 499, text: "The call was cancelled" };
    case "unauthorized":
      return { status: 401, text: "Unauthorized" };
    case "provider-down":
      return { status: 503, text: "The identity provider cannot be reached at the moment; try again later" };
    case "body-too-large":
      return { status: 413, text: "The result is too large; ask for less" };
    case "unsupported-body-type":
    case "https-required":
    case "not-found":
    case "method-not-allowed":
    case "not-acceptable":
    case "key-reused":
    case "key-refused":
    case "internal":
      return { status: 500, text: "Internal error" };
  }
}
