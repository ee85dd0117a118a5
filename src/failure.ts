/** What is wrong with one field of a request. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** Every way in which a request can fail. `failure-response.ts` says what clients see of each. */
export type Failure =
  | { readonly kind: "invalid-params"; readonly errors: readonly FieldError[] }
  | { readonly kind: "body-too-large" }
  | { readonly kind: "unsupported-body-type" }
  /** No credentials, or wrong ones: nobody is told which. The challenge names the scheme that is expected. Spec 5. */
  | { readonly kind: "unauthorized"; readonly scheme: "basic" | "bearer" }
  /** Nobody can tell who it is: the identity provider was never reached. */
  | { readonly kind: "provider-down" }
  | { readonly kind: "too-many-requests"; readonly retryAfterSeconds: number }
  /** Over plain HTTP where HTTPS is enforced; `location` is where the same is had safely. */
  | { readonly kind: "https-required"; readonly location: string | undefined }
  | { readonly kind: "not-found" }
  | { readonly kind: "method-not-allowed"; readonly allow: readonly string[] }
  /** None of the media types that are offered is one that the client takes. */
  | { readonly kind: "not-acceptable"; readonly offered: readonly string[] }
  /** The template itself refused, with `error('403: not yours')`. */
  | { readonly kind: "refused-by-template"; readonly status: number; readonly message: string }
  /** `masked` is the message without values of the request, for logs; absent where it holds none. */
  | { readonly kind: "query-failed"; readonly message: string; readonly masked?: string }
  /** An `Idempotency-Key` came again with another request. */
  | { readonly kind: "key-reused" }
  /** An `Idempotency-Key` for an endpoint that cannot keep one together with what it changes. */
  | { readonly kind: "key-refused" }
  /** Others changed the same rows at the same time, again and again. */
  | { readonly kind: "conflict" }
  | { readonly kind: "query-timeout"; readonly limitMs: number }
  | { readonly kind: "connection-down"; readonly connection: string }
  | { readonly kind: "overloaded" }
  | { readonly kind: "draining" }
  /** The client left: nobody waits for an answer. */
  | { readonly kind: "cancelled" }
  | { readonly kind: "internal" };

/** The message of a failed query as it may be logged. */
export function logMessage({ message, masked }: Extract<Failure, { kind: "query-failed" }>): string {
  return masked ?? message;
}

/** A Failure on its way from where it happened to the edge that answers it. */
export class RequestFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.name = "RequestFailure";
    this.failure = failure;
  }
}
