import type { Failure, FieldError } from "./failure.ts";

/** A failure as clients see it. REST, MCP and the OpenAPI document all use this mapping. */
export interface FailureResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string } | { readonly errors: readonly FieldError[] };
  /** The message for a language model. */
  readonly advice: string;
}

/** A data source or the queue may be available again within seconds. */
const RETRY_AFTER = { "Retry-After": "1" } as const;
const CLOSE = { Connection: "close" } as const;

/** Basic is always offered; the scheme that the endpoint expects comes first. */
const CHALLENGES = { basic: 'Basic realm="eider"', bearer: 'Bearer realm="eider", Basic realm="eider"' } as const;

export function failureResponse(failure: Failure): FailureResponse {
  switch (failure.kind) {
    case "invalid-params":
      return fieldErrorResponse(400, failure.errors);
    case "body-too-large": {
      // MCP uses this failure for a result that is too large.
      const advice = "The result is too large; ask for less";
      return {
        ...fieldErrorResponse(413, [{ field: "body", message: "Request body is too large" }]),
        headers: CLOSE,
        advice,
      };
    }
    case "unsupported-body-type":
      return fieldErrorResponse(415, [{ field: "body", message: "Content-Type must be application/json" }]);
    case "unauthorized":
      return { ...errorResponse(401, "Unauthorized"), headers: { "WWW-Authenticate": CHALLENGES[failure.scheme] } };
    case "provider-down":
      return unavailableResponse(
        "the identity provider cannot be reached",
        "The identity provider cannot be reached at the moment; try again later",
      );
    case "too-many-requests": {
      const { retryAfterSeconds: seconds } = failure;
      const headers = { "Retry-After": String(seconds) };
      return { ...errorResponse(429, "Too Many Requests", `Rate limit exceeded, retry in ${seconds} s`), headers };
    }
    case "https-required":
      return failure.location === undefined
        ? errorResponse(403, "Forbidden: HTTPS is required")
        : { ...errorResponse(308, "Permanent Redirect: HTTPS is required"), headers: { Location: failure.location } };
    case "not-found":
      return errorResponse(404, "Not Found");
    case "no-row":
      return errorResponse(404, "Not Found", "Nothing was found for these arguments");
    case "nothing-changed":
      return errorResponse(404, "Not Found", "Nothing was changed: no row matches these arguments");
    case "several-rows": {
      const message = "the query returned several rows instead of one";
      return errorResponse(500, `Internal Server Error: ${message}`, `Query failed: ${message}`);
    }
    case "method-not-allowed":
      return { ...errorResponse(405, "Method Not Allowed"), headers: { Allow: failure.allow.join(", ") } };
    case "not-acceptable":
      return errorResponse(406, `Not Acceptable: offered are ${failure.offered.join(", ")}`);
    case "refused-by-template":
      return errorResponse(failure.status, failure.message);
    case "query-failed":
      return errorResponse(500, `Internal Server Error: ${failure.message}`, `Query failed: ${failure.message}`);
    case "constraint-failed": {
      const { constraint, message } = failure;
      const advice = `Rejected by a constraint of the database: ${message}`;
      return constraint === "unique"
        ? errorResponse(409, `Conflict: ${message}`, advice)
        : errorResponse(422, `Unprocessable Content: ${message}`, advice);
    }
    case "key-reused":
      return errorResponse(422, "Unprocessable Content: this Idempotency-Key was used for another request");
    case "key-refused": {
      const message = "Idempotency keys are not supported by this endpoint";
      return fieldErrorResponse(400, [{ field: "Idempotency-Key", message }]);
    }
    case "conflict": {
      const advice = "Others are changing the same rows, nothing was changed; try again";
      return { ...errorResponse(409, "Conflict: others are changing the same rows", advice), headers: RETRY_AFTER };
    }
    case "query-timeout":
      return errorResponse(
        504,
        "Gateway Timeout: the query took too long",
        `The query took longer than ${failure.limitMs / 1000} s, which is the limit; ask for less with narrower filters`,
      );
    case "connection-down":
      return unavailableResponse(
        `connection '${failure.connection}' cannot be reached`,
        `The data source '${failure.connection}' cannot be reached at the moment; try again later`,
      );
    case "connection-opening": {
      const state = openingText(failure);
      return unavailableResponse(`connection ${state}`, `The data source ${state}; try again later`);
    }
    case "database-in-use":
      return errorResponse(
        503,
        "Service Unavailable: another process has the database open; only it can change the data",
        "Another process has the database open, and only it can change the data; nothing was changed. Call that service instead",
      );
    case "overloaded":
      return unavailableResponse(
        "too many requests are waiting",
        "Too many requests are waiting; try again in a few seconds",
      );
    case "draining": {
      const response = unavailableResponse(
        "the service is stopping",
        "The service is stopping; try again in a few seconds",
      );
      return { ...response, headers: { ...RETRY_AFTER, ...CLOSE } };
    }
    case "cancelled":
      return { ...errorResponse(CLIENT_CLOSED, "Client Closed Request", "The call was cancelled"), headers: CLOSE };
    case "internal":
      return errorResponse(500, "Internal Server Error", "Internal error");
  }
}

/** For messages, after the word "connection". */
export function openingText({ connection, ms }: { readonly connection: string; readonly ms: number }): string {
  return `'${connection}' is still running its init statement, for ${Math.round(ms / 1_000)} s`;
}

/** The status that proxies log when a client disconnects early. */
export const CLIENT_CLOSED = 499;

/** The errors in the body, on one line. */
export function errorText({ body }: FailureResponse): string {
  return "error" in body ? body.error : body.errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
}

function errorResponse(status: number, error: string, advice = error): FailureResponse {
  return { status, headers: {}, body: { error }, advice };
}

function fieldErrorResponse(status: number, errors: readonly FieldError[]): FailureResponse {
  const advice = errors.map(({ field, message }) => `${field}: ${message}`).join("\n");
  return { status, headers: {}, body: { errors }, advice };
}

function unavailableResponse(why: string, advice: string): FailureResponse {
  return { ...errorResponse(503, `Service Unavailable: ${why}`, advice), headers: RETRY_AFTER };
}
