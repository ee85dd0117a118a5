import type { CallOptions, ClientOptions, Failure, FieldError, Page, WriteOptions } from "./api.ts";
import { EiderError } from "./api.ts";

/** How numbers in a response are parsed: all in the same way, each value of a map in the same way, or field by field. */
export type Numbers =
  | "number"
  | "bigint"
  | "text"
  | "json"
  | "json-text"
  | { readonly each: Numbers }
  | { readonly fields: Readonly<Record<string, Numbers>> };

export type Parse = (text: string, numbers: Numbers | undefined) => unknown;

/** One endpoint. Parameters are named as in its YAML. */
export interface Operation {
  readonly kind: "one" | "rows" | "page" | "write";
  readonly method: string;
  readonly path: string;
  readonly query?: readonly string[];
  readonly headers?: readonly (readonly [param: string, header: string])[];
  readonly body?: readonly string[];
  readonly numbers?: Numbers;
}

/** An operation and its name. */
type NamedOperation = Operation & { readonly name: string };
type Params = Readonly<Record<string, unknown>>;
type Call = (params?: Params, options?: WriteOptions) => Promise<unknown>;

/** Creates a method for each operation. */
export function openMethods(
  operations: Readonly<Record<string, Operation>>,
  { baseUrl, auth, headers: commonHeaders, fetch: send = fetch }: ClientOptions,
  parse: Parse,
): unknown {
  const origin = baseUrl.replace(/\/+$/, "");

  async function authorization(): Promise<Record<string, string>> {
    if (auth === undefined) return {};
    if (auth.kind === "basic") return { authorization: `Basic ${base64(`${auth.username}:${auth.password}`)}` };
    return { authorization: `Bearer ${typeof auth.token === "string" ? auth.token : await auth.token()}` };
  }

  async function call(operation: NamedOperation, params: Params, options: WriteOptions): Promise<unknown> {
    const { name } = operation;
    const request = requestOf(operation, params);
    const key = options.idempotencyKey;
    const headers = {
      accept: "application/json",
      ...(await authorization()),
      ...withLowerCaseNames(commonHeaders),
      ...request.headers,
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...withLowerCaseNames(options.headers),
    };
    let response: Response | undefined;
    let text: string;
    try {
      const { method, body } = request;
      response = await send(origin + request.target, { method, headers, body, signal: options.signal ?? null });
      text = await response.text();
    } catch (cause) {
      const kind = options.signal?.aborted === true ? "aborted" : "network";
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new EiderError(name, { kind, message }, { response, cause });
    }
    if (!response.ok) throw new EiderError(name, failureOf(response, text), { response });
    try {
      return parse(text, operation.numbers);
    } catch (cause) {
      const failure = unexpectedFailure("the response is not the expected JSON", response);
      throw new EiderError(name, failure, { response, cause });
    }
  }

  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const method: Call = (params = {}, options = {}) => call({ ...operation, name }, params, options);
      const isError = (error: unknown): boolean => error instanceof EiderError && error.operation === name;
      return [name, Object.assign(method, { isError }, operation.kind === "page" ? pagesOf(name, method) : {})];
    }),
  );
}

function pagesOf(name: string, call: Call) {
  async function* pages(
    params: Params = {},
    options: CallOptions = {},
  ): AsyncGenerator<Page<unknown>, void, undefined> {
    for (let offset = Number(params["offset"] ?? 0), next = "?"; next !== ""; ) {
      // This kind of operation returns a page.
      const page = (await call({ ...params, offset }, options)) as Page<unknown>;
      next = page.next;
      // `next` itself lacks the path prefix of a proxy.
      const nextOffset = Number(new URLSearchParams(next.slice(next.indexOf("?"))).get("offset"));
      if (next !== "" && !(nextOffset > offset)) {
        throw new EiderError(name, { kind: "unexpected", message: "`next` leads nowhere", status: 200 });
      }
      offset = nextOffset;
      yield page;
    }
  }
  async function* all(params?: Params, options?: CallOptions): AsyncGenerator<unknown, void, undefined> {
    for await (const page of pages(params, options)) yield* page.data;
  }
  return { pages, all };
}

/** Text that cannot be a path segment: empty, dots that URLs resolve, or with a surrogate that cannot be encoded. */
const INVALID_SEGMENT = /^\.{0,2}$|\p{Cs}/u;
const INVALID_HEADER_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

function requestOf({ name, method, path, query = [], headers = [], body }: NamedOperation, params: Params) {
  // A parameter may have the name of an inherited property, such as `constructor`.
  const valueAt = (param: string): unknown => (Object.hasOwn(params, param) ? params[param] : undefined) ?? undefined;
  const reject = (field: string, message: string): never => {
    throw new EiderError(name, validationFailure([{ field, message }]));
  };
  const filledPath = path.replace(/:(\w+)/g, (_, param: string) => {
    const text = String(valueAt(param) ?? "");
    return INVALID_SEGMENT.test(text) ? reject(param, "cannot be sent in a path") : encodeURIComponent(text);
  });
  const search = new URLSearchParams();
  for (const param of query) if (valueAt(param) !== undefined) search.set(param, String(valueAt(param)));
  const sentHeaders: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  for (const [param, header] of headers) {
    const text = String(valueAt(param) ?? "");
    if (valueAt(param) !== undefined)
      sentHeaders[header] = INVALID_HEADER_VALUE.test(text) ? reject(param, "cannot be sent in a header") : text;
  }
  const fields = body?.map((param) => [param, valueAt(param)] as const);
  const queryText = String(search);
  return {
    method,
    target: queryText === "" ? filledPath : `${filledPath}?${queryText}`,
    headers: sentHeaders,
    body: fields === undefined ? null : objectText(fields),
  };
}

/** Like `JSON.stringify`, but supports bigints. */
function jsonText(value: unknown): string | undefined {
  if (typeof value === "bigint") return String(value);
  // `JSON.stringify` would write `null`, which counts as absent.
  if (typeof value === "number" && !Number.isFinite(value)) return `"${value}"`;
  if (typeof value !== "object" || value === null || "toJSON" in value) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item) ?? "null").join(",")}]`;
  return objectText(Object.entries(value));
}

function objectText(entries: readonly (readonly [string, unknown])[]): string {
  const texts = entries.map(([key, value]) => [JSON.stringify(key), jsonText(value)] as const);
  return `{${texts.flatMap(([key, text]) => (text === undefined ? [] : `${key}:${text}`)).join(",")}}`;
}

function failureOf(response: Response, text: string): Failure {
  const { status } = response;
  const { error, errors } = bodyOf(text);
  if (Array.isArray(errors)) return validationFailure(errors);
  const message = typeof error === "string" ? error : `${status} ${response.statusText}`.trim();
  const seconds = response.headers.get("retry-after") ?? "";
  const retryAfter = /^\d+$/.test(seconds) ? Number(seconds) : undefined;
  switch (status) {
    case 401:
      return { kind: "unauthorized", message };
    case 403:
      return { kind: "forbidden", message };
    case 404:
      return { kind: "not-found", message };
    case 409:
      return { kind: "conflict", message, retryAfter };
    case 429:
      return { kind: "rate-limited", message, retryAfter };
    case 500:
      return { kind: "query-failed", message };
    case 503:
      return { kind: "unavailable", message, retryAfter };
    case 504:
      return { kind: "timeout", message };
    default:
      return status >= 400 && status < 500
        ? { kind: "refused", message, status }
        : unexpectedFailure(message, response);
  }
}

function bodyOf(text: string): { readonly error?: unknown; readonly errors?: unknown } {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    return {};
  }
}

function validationFailure(errors: readonly FieldError[]): Failure {
  return { kind: "validation", message: errors.map(({ field, message }) => `${field}: ${message}`).join("; "), errors };
}

function unexpectedFailure(message: string, { status }: Response): Failure {
  return { kind: "unexpected", message, status };
}

/** Header names are case-insensitive. In lower case, later ones replace earlier ones. */
function withLowerCaseNames(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
