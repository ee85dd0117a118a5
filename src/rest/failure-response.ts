import type { Failure } from "../failure.ts";

/** A failure as HTTP tells it. Spec 7, decisions 10. */
export interface FailureResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A source or a queue may be free again within seconds. */
const RETRY_AFTER_SECONDS = "1";

/** Basic is always named; a scheme that is expected instead stands first; decisions 9. */
const CHALLENGES = { basic: 'Basic realm="eider"', bearer: 'Bearer realm="eider", Basic realm="eider"' } as const;

export function failureResponse(failure: Failure): FailureResponse {
  switch (failure.kind) {
    case "invalid-params":
      return { status: 400, headers: {}, body: { errors: failure.errors } };
    case "body-too-large":
      return {
        status: 413,
        headers: { Connection: "close" },
        body: { errors: [{ field: "body", message: "Request body is too large" }] },
      };
    case "unsupported-body-type":
      return {
        status: 415,
        headers: {},
        body: { errors: [{ field: "body", message: "Content-Type must be application/json" }] },
      };
    case "unauthorized":
      return {
        status: 401,
        headers: { "WWW-Authenticate": CHALLENGES[failure.scheme] },
        body: { error: "Unauthorized" },
      };
    case "provider-down":
      return unavailable("the identity provider cannot be reached");
    case "too-many-requests":
      return {
        status: 429,
        headers: { "Retry-After": String(failure.retryAfterSeconds) },
        body: { error: "Too Many Requests" },
      };
    case "https-required":
      return failure.location === undefined
        ? { status: 403, headers: {}, body: { error: "Forbidden: HTTPS is required" } }
        : {
            status: 308,
            headers: { Location: failure.location },
            body: { error: "Permanent Redirect: HTTPS is required" },
          };
    case "not-found":
      return { status: 404, headers: {}, body: { error: "Not Found" } };
    case "method-not-allowed":
      return { status: 405, headers: { Allow: failure.allow.join(", ") }, body: { error: "Method Not Allowed" } };
    case "not-acceptable":
      return {
        status: 406,
        headers: {},
        body: { error: `Not Acceptable: offered are ${failure.offered.join(", ")}` },
      };
    case "refused-by-template":
      return { status: failure.status, headers: {}, body: { error: failure.message } };
    case "query-failed":
      return { status: 500, headers: {}, body: { error: `Internal Server Error: ${failure.message}` } };
    case "key-reused":
      return {
        status: 422,
        headers: {},
        body: { error: "Unprocessable Content: this Idempotency-Key was used for another request" },
      };
    case "key-refused":
      return {
        status: 400,
        headers: {},
        body: {
          errors: [{ field: "Idempotency-Key", message: "Idempotency keys are not supported by this endpoint" }],
        },
      };
    case "conflict":
      return {
        status: 409,
        headers: { "Retry-After": RETRY_AFTER_SECONDS },
        body: { error: "Conflict: others are changing the same rows" },
      };
    case "query-timeout":
      return { status: 504, headers: {}, body: { error: "Gateway Timeout: the query took too long" } };
    case "connection-down":
      return unavailable(`connection '${failure.connection}' cannot be reached`);
    case "overloaded":
      return unavailable("too many requests are waiting");
    case "draining":
      return unavailable("the service is stopping", { Connection: "close" });
    case "cancelled":
      // Nobody reads it; the status is the one that proxies log for a client that left.
      return { status: 499, headers: { Connection: "close" }, body: { error: "Client Closed Request" } };
    case "internal":
      return { status: 500, headers: {}, body: { error: "Internal Server Error" } };
  }
}

function unavailable(why: string, headers: Readonly<Record<string, string>> = {}): FailureResponse {
  return {
    status: 503,
    headers: { "Retry-After": RETRY_AFTER_SECONDS, ...headers },
    body: { error: `Service Unavailable: ${why}` },
  };
}
