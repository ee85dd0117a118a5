/** Who calls. A token that is a function is asked for by every call, so that it may be a new one. */
export type Auth =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string | (() => string | Promise<string>) };

export interface ClientOptions {
  /** Where the service is: `https://api.example.com`, with a path where a proxy serves it below one. */
  readonly baseUrl: string;
  readonly auth?: Auth | undefined;
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends the requests instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Names the call, so that it can be sent again: within 24 hours the first answer comes back and nothing runs. */
  readonly idempotencyKey?: string | undefined;
}

/** What every read takes. */
export type PageParams = {
  /** At most so many rows: of a page, or, where there are no pages, of all. */
  readonly limit?: number | bigint | undefined;
  /** Rows to leave out. */
  readonly offset?: number | bigint | undefined;
};

export interface FieldError<Field extends string = string> {
  readonly field: Field;
  readonly message: string;
}

/** Every way in which a call can fail. `retryAfter` is in seconds. */
export type Failure<Field extends string = string> =
  /** Parameters are missing, unknown or not of their form. */
  | { readonly kind: "validation"; readonly message: string; readonly errors: readonly FieldError<Field>[] }
  | { readonly kind: "unauthorized"; readonly message: string }
  | { readonly kind: "forbidden"; readonly message: string }
  | { readonly kind: "not-found"; readonly message: string }
  /** Others kept changing the same rows. Nothing was changed. */
  | { readonly kind: "conflict"; readonly message: string; readonly retryAfter: number | undefined }
  | { readonly kind: "rate-limited"; readonly message: string; readonly retryAfter: number | undefined }
  /** Any other status from 400 to 499. */
  | { readonly kind: "refused"; readonly message: string; readonly status: number }
  | { readonly kind: "query-failed"; readonly message: string }
  /** A data source is down, too many calls wait, or the service is stopping. */
  | { readonly kind: "unavailable"; readonly message: string; readonly retryAfter: number | undefined }
  /** The query took too long and was stopped. */
  | { readonly kind: "timeout"; readonly message: string }
  /** No answer came, or not all of it. */
  | { readonly kind: "network"; readonly message: string }
  /** The call's own signal ended it. */
  | { readonly kind: "aborted"; readonly message: string }
  /** An answer that the service does not give: something else answered. */
  | { readonly kind: "unexpected"; readonly message: string; readonly status: number };

/** What every call throws when it fails. */
export class EiderError<Field extends string = string> extends Error {
  /** Name of the method that was called. */
  readonly operation: string;
  readonly failure: Failure<Field>;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  /** As the log of the service has it. */
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

/** Parameters may be left out where none is required. */
export type Arguments<Params, Options> =
  Partial<Params> extends Params
    ? [params?: Params | undefined, options?: Options | undefined]
    : [params: Params, options?: Options | undefined];

export interface Fails<Field extends string> {
  /** Whether this method threw it; then the names of its fields are known. */
  isError(error: unknown): error is EiderError<Field>;
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
  /** Rows on all pages together. */
  total_count: number;
}

export interface PagedMethod<Params, Row, Field extends string> extends Fails<Field> {
  (...args: Arguments<Params, CallOptions>): Promise<Page<Row>>;
  /** This page and all that follow. `limit` is the size of each. */
  pages(...args: Arguments<Params, CallOptions>): AsyncGenerator<Page<Row>, void, undefined>;
  /** The rows of this page and of all that follow; each page is asked for when its first row is. */
  all(...args: Arguments<Params, CallOptions>): AsyncGenerator<Row, void, undefined>;
}
