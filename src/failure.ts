import { explained } from "./error-message.ts";

/** What is wrong with one field of a request. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/**
 * A message from the database. `masked` is for logs: the message without request values. Absent if it has none. `explanation` is
 * for logs too, because it may list tables.
 */
interface DatabaseMessage {
  readonly message: string;
  readonly masked?: string;
  readonly explanation?: string | undefined;
}

/** `unique`: a primary key, UNIQUE or exclusion constraint. `other`: CHECK, NOT NULL or a foreign key. */
export type Constraint = "unique" | "other";

/** Every way in which a request can fail. `failure-response.ts` maps each to a response. */
export type Failure =
  | { readonly kind: "invalid-params"; readonly errors: readonly FieldError[] }
  /** A request body, or over MCP a result, exceeds its limit. */
  | { readonly kind: "body-too-large" }
  | { readonly kind: "unsupported-body-type" }
  /** No credentials, or invalid ones. The response does not say which. The challenge names the expected scheme. */
  | { readonly kind: "unauthorized"; readonly scheme: "basic" | "bearer" }
  /** The identity cannot be verified: Eider never reached the identity provider. */
  | { readonly kind: "provider-down" }
  | { readonly kind: "too-many-requests"; readonly retryAfterSeconds: number }
  /** Plain HTTP where HTTPS is enforced; `location` is the HTTPS URL. */
  | { readonly kind: "https-required"; readonly location: string | undefined }
  | { readonly kind: "not-found" }
  /** `returns: one`, but the query returned no row. */
  | { readonly kind: "no-row" }
  /** `returns: one`, but the query returned several rows. */
  | { readonly kind: "several-rows" }
  /** A write changed no row, and `http-status.nothing-changed` is 404. */
  | { readonly kind: "nothing-changed" }
  | { readonly kind: "method-not-allowed"; readonly allow: readonly string[] }
  /** The client accepts none of the offered media types. */
  | { readonly kind: "not-acceptable"; readonly offered: readonly string[] }
  /** The template rejected the request, with `error('403: not yours')`. */
  | { readonly kind: "refused-by-template"; readonly status: number; readonly message: string }
  | ({ readonly kind: "query-failed"; readonly constraint?: Constraint } & DatabaseMessage)
  /** A constraint of the database rejected a write, and `http-status.constraint-failure` is `client-error`. */
  | ({ readonly kind: "constraint-failed"; readonly constraint: Constraint } & DatabaseMessage)
  /** A client reused an `Idempotency-Key` for a different request. */
  | { readonly kind: "key-reused" }
  /** An `Idempotency-Key` for an endpoint that cannot store it in the transaction of its write. */
  | { readonly kind: "key-refused" }
  /** Concurrent writes changed the same rows, and every retry failed too. */
  | { readonly kind: "conflict" }
  | { readonly kind: "query-timeout"; readonly limitMs: number }
  | { readonly kind: "connection-down"; readonly connection: string }
  /** The call waited for the `init` of a connection, which has been running for `ms` milliseconds. */
  | { readonly kind: "connection-opening"; readonly connection: string; readonly ms: number }
  /** A write, while a database file is a copy because another process has locked it. */
  | { readonly kind: "database-in-use" }
  | { readonly kind: "overloaded" }
  | { readonly kind: "draining" }
  /** The client disconnected or cancelled the call. */
  | { readonly kind: "cancelled" }
  | { readonly kind: "internal" };

/** The database's message in the form that may be logged. */
export function logMessage({ message, masked, explanation }: DatabaseMessage): string {
  return explained(explanation, masked ?? message);
}

/** Carries a Failure to the surface that sends the response. */
export class RequestFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.name = "RequestFailure";
    this.failure = failure;
  }
}
