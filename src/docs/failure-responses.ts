import { type Endpoint, takesKeys } from "../endpoint/endpoint.ts";
import type { Components } from "./components.ts";
import { type HeaderName, headersNamed, rateLimitNames } from "./headers.ts";
import type { JsonObject } from "./json.ts";

/** What of the project decides which failures an endpoint can have. */
export interface FailureContext {
  readonly components: Components;
  readonly maxBodyBytes: number;
  /** HTTPS is required, and a proxy terminates it. */
  readonly refusesPlainHttp: boolean;
}

interface FailureKind {
  readonly status: string;
  /** Of the component. */
  readonly name: string;
  readonly description: string;
  readonly shape: "fields" | "message" | "either";
  readonly headers?: readonly HeaderName[];
  /** It can happen before anything is counted. */
  readonly beforeRateLimit?: true;
}

/** Every failure of a call of this endpoint, by status. */
export function failureResponses(endpoint: Endpoint, context: FailureContext): JsonObject {
  const { components } = context;
  const kinds = withRaised(failuresOf(endpoint, context), raisedBy(endpoint));
  const entries = kinds.map((kind) => {
    const limited = endpoint.rateLimit !== undefined && kind.beforeRateLimit === undefined;
    const name = limited ? `${kind.name}RateLimited` : kind.name;
    return [kind.status, components.response(name, () => responseOf(kind, limited, components))] as const;
  });
  return Object.fromEntries(entries);
}

function failuresOf(endpoint: Endpoint, { maxBodyBytes, refusesPlainHttp }: FailureContext): readonly FailureKind[] {
  const { auth, rateLimit, operation, parameters, route } = endpoint;
  const isGet = route?.method === "GET";
  const takesBody = !isGet && parameters.some((parameter) => parameter.in === "body");
  const kinds: (FailureKind | false)[] = [
    refusesPlainHttp && isGet && HTTPS_ELSEWHERE,
    INVALID,
    auth !== undefined && UNAUTHORIZED,
    refusesPlainHttp && !isGet && HTTPS_REQUIRED,
    NOT_ACCEPTABLE,
    operation.kind === "write" && CONFLICT,
    takesBody && { ...TOO_LARGE, description: `${TOO_LARGE.description} of ${maxBodyBytes} bytes.` },
    takesBody && UNSUPPORTED_BODY,
    takesKeys(endpoint) && KEY_REUSED,
    // Failed logins are limited too.
    (rateLimit !== undefined || auth?.kind === "basic") && TOO_MANY,
    FAILED,
    UNAVAILABLE,
    TIMEOUT,
  ];
  return kinds.filter((kind) => kind !== false);
}

type FailureDetails = Partial<Pick<FailureKind, "shape" | "headers" | "beforeRateLimit">>;

function failure(status: string, name: string, description: string, details: FailureDetails = {}): FailureKind {
  return { status, name, description, shape: "message", ...details };
}

const INVALID = failure(
  "400",
  "InvalidParameters",
  "Parameters are missing, unknown or invalid. The body lists one error per field.",
  { shape: "fields" },
);
const UNAUTHORIZED = failure("401", "Unauthorized", "Missing or invalid credentials.", {
  headers: ["WWW-Authenticate"],
});
const HTTPS_ELSEWHERE = failure("308", "HttpsElsewhere", "Use HTTPS: the same URL with `https`.", {
  headers: ["Location"],
  beforeRateLimit: true,
});
const HTTPS_REQUIRED = failure("403", "HttpsRequired", "The request came over plain HTTP.", { beforeRateLimit: true });
const NOT_ACCEPTABLE = failure("406", "NotAcceptable", "`Accept` matches none of the available formats.");
const CONFLICT = failure(
  "409",
  "Conflict",
  "Concurrent requests changed the same rows. This request changed nothing; retry it.",
  { headers: ["Retry-After"] },
);
const TOO_LARGE = failure("413", "BodyTooLarge", "The body is larger than the limit", { shape: "fields" });
const UNSUPPORTED_BODY = failure("415", "UnsupportedBodyType", "The body is not `application/json`.", {
  shape: "fields",
});
const KEY_REUSED = failure("422", "KeyReused", "The `Idempotency-Key` was used for another request.");
const TOO_MANY = failure("429", "TooManyRequests", "Too many requests, or too many failed logins.", {
  headers: ["Retry-After"],
});
const FAILED = failure("500", "QueryFailed", "The query failed; the body has the message of the database.");
const UNAVAILABLE = failure(
  "503",
  "Unavailable",
  "A data source is down, the queue is full, or the service is shutting down.",
  { headers: ["Retry-After"], beforeRateLimit: true },
);
const TIMEOUT = failure("504", "QueryTimeout", "The query timed out.");

function responseOf(kind: FailureKind, limited: boolean, components: Components): JsonObject {
  const { description, headers = [] } = kind;
  const names = ["X-Request-Id" as const, ...headers, ...(limited ? rateLimitNames : [])];
  return {
    description,
    headers: headersNamed(names, components),
    content: { "application/json": { schema: shapeOf(kind.shape, components) } },
  };
}

function shapeOf(shape: FailureKind["shape"], components: Components): JsonObject {
  const message = () => components.schema("Error", () => ERROR);
  const fields = () => components.schema("InvalidFields", () => INVALID_FIELDS);
  switch (shape) {
    case "message":
      return message();
    case "fields":
      return fields();
    case "either":
      return { anyOf: [fields(), message()] };
  }
}

const ERROR: JsonObject = { type: "object", required: ["error"], properties: { error: { type: "string" } } };

const INVALID_FIELDS: JsonObject = {
  type: "object",
  required: ["errors"],
  properties: {
    errors: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["field", "message"],
        properties: {
          field: { type: "string", description: "Name of the parameter, or `body`." },
          message: { type: "string" },
        },
      },
    },
  },
};

const RAISED = /\berror\s*\(\s*'(4\d\d):/gi;
const RAISES = /\berror\s*\(/i;

/** The statuses that the template raises with `error('403: not yours')`; `4XX` when it raises what only a call can tell. */
function raisedBy({ source }: Endpoint): readonly string[] {
  const text = source?.text ?? "";
  const statuses = [...text.matchAll(RAISED)].map(([, status = ""]) => status);
  const others = RAISES.test(text.replaceAll(RAISED, "")) ? ["4XX"] : [];
  return [...new Set([...statuses, ...others])].sort();
}

/** Eider may return a status that the template raises as well. */
function withRaised(kinds: readonly FailureKind[], raised: readonly string[]): readonly FailureKind[] {
  const own = kinds.map((kind): FailureKind => {
    if (!raised.includes(kind.status)) return kind;
    return {
      ...kind,
      name: `${kind.name}OrRefused`,
      description: `${kind.description} Or the query rejected the request.`,
      shape: kind.shape === "fields" ? "either" : kind.shape,
      headers: [],
    };
  });
  const others = raised
    .filter((status) => !kinds.some((kind) => kind.status === status))
    .map(
      (status): FailureKind => ({
        status,
        name: `Refused${status}`,
        description: "The query rejected the request; the body says why.",
        shape: "message",
      }),
    );
  return [...own, ...others].toSorted((left, right) => (left.status < right.status ? -1 : 1));
}
