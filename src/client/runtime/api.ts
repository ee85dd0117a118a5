/** Credentials. If `token` is a function, it is called for every request, so that it can return a fresh token. */
export type Auth =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string | (() => string | Promise<string>) };

export interface ClientOptions {
  /** URL of the service: `https://api.example.com`, with the path prefix of a proxy if there is one. */
  readonly baseUrl: string;
  readonly auth?: Auth | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface WriteOptions extends CallOptions {
  /**
   * Makes it safe to send the same request again. For 24 hours after a success, the service returns the first response and
   * runs nothing. A failed write stores no response, so it runs again.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Paging parameters of reads. */
export type PageParams = {
  /** Maximum number of rows in the response; with `pages` and `all`, in each page. */
  readonly limit?: number | bigint | undefined;
  /** Number of rows to skip. */
  readonly offset?: number | bigint | undefined;
};

export interface FieldError<Field extends string = string> {
  readonly field: Field;
  readonly message: string;
}

/** Every way in which a call can fail. `retryAfter` is in seconds. */
export type Failure<Field extends string = string> =
  /** Parameters are missing, unknown or invalid, or the body cannot be accepted. */
  | { readonly kind: "validation"; readonly message: string; readonly errors: readonly FieldError<Field>[] }
  | { readonly kind: "unauthorized"; readonly message: string }
  | { readonly kind: "forbidden"; readonly message: string }
  | { readonly kind: "not-found"; readonly message: string }
  /**
   * The write failed. If `retryAfter` is set, other requests were changing the same rows, and a retry may succeed. Otherwise,
   * it violates a constraint (for example, a row with the same key exists), or the template rejected it.
   */
  | { readonly kind: "conflict"; readonly message: string; readonly retryAfter: number | undefined }
  | { readonly kind: "rate-limited"; readonly message: string; readonly retryAfter: number | undefined }
  /** Any other status from 400 to 499. */
  | { readonly kind: "refused"; readonly message: string; readonly status: number }
  | { readonly kind: "query-failed"; readonly message: string }
  /** A data source or the identity provider is down, the queue is full, or the service is shutting down. */
  | { readonly kind: "unavailable"; readonly message: string; readonly retryAfter: number | undefined }
  /** The query timed out. */
  | { readonly kind: "timeout"; readonly message: string }
  /** No response, or an incomplete one. */
  | { readonly kind: "network"; readonly message: string }
  /** The `signal` in the call's options aborted the call. */
  | { readonly kind: "aborted"; readonly message: string }
  /** A response that is not from Eider, for example from a proxy. */
  | { readonly kind: "unexpected"; readonly message: string; readonly status: number };

/** Thrown by every call that fails. */
export class EiderError<Field extends string = string> extends Error {
  /** Name of the method that was called. */
  readonly operation: string;
  readonly failure: Failure<Field>;
  /** The HTTP status. Undefined if there was no response. */
  readonly status: number | undefined;
  /** The same ID as in the log of the service. */
  readonly requestId: string | undefined;

  constructor(
    operation: string,
    failure: Failure<Field>,
    from: { response?: Response | undefined; cause?: unknown } = {},
  ) {
    const { response, ...options } = from;
    super(`${operation}: ${failure.message}`, options);
    this.name = "EiderError";
    this.operation = operation;
    this.failure = failure;
    this.status = response?.status;
    this.requestId = response?.headers.get("x-request-id") ?? undefined;
  }
}

/** The arguments of a method. `params` may be left out if no parameter is required. */
export type Arguments<Params, Options> =
  Partial<Params> extends Params
    ? [params?: Params | undefined, options?: Options | undefined]
    : [params: Params, options?: Options | undefined];

export interface Fails<Field extends string> {
  /** Whether this method threw the error. Narrows the field names in `validation` errors to those of this method. */
  isError(error: unknown): error is EiderError<Field>;
}

export interface RowMethod<Params, Row, Field extends string> extends Fails<Field> {
  /** Fails with `not-found` if there is no row. */
  (...args: Arguments<Params, CallOptions>): Promise<Row>;
}

export interface RowsMethod<Params, Row, Field extends string> extends Fails<Field> {
  (...args: Arguments<Params, CallOptions>): Promise<Row[]>;
}

export interface WriteMethod<Params, Result, Field extends string> extends Fails<Field> {
  (...args: Arguments<Params, WriteOptions>): Promise<Result>;
}

export interface Page<Row> {
  data: Row[];
  /** Path and query of the next page; empty on the last one. */
  next: string;
  /** The number of rows on all pages. */
  total_count: number;
}

export interface PagedMethod<Params, Row, Field extends string> extends Fails<Field> {
  (...args: Arguments<Params, CallOptions>): Promise<Page<Row>>;
  /** Yields this page and all following ones. `limit` is the number of rows per page. */
  pages(...args: Arguments<Params, CallOptions>): AsyncGenerator<Page<Row>, void, undefined>;
  /** Yields the rows of this page and all following ones. Each page is fetched when its first row is needed. */
  all(...args: Arguments<Params, CallOptions>): AsyncGenerator<Row, void, undefined>;
}
