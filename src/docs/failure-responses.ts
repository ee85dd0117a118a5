import { type Endpoint, supportsIdempotencyKey } from "../endpoint/endpoint.ts";
import type { Failure } from "../failure.ts";
import { failureResponse } from "../failure-response.ts";
import type { Components } from "./components.ts";
import { type HeaderName, headerReferences, rateLimitNames } from "./headers.ts";
import type { JsonObject } from "./json.ts";

/** The project settings that determine possible failures. */
export interface FailureContext {
  readonly components: Components;
  readonly maxBodyBytes: number;
  /** Whether HTTPS is required and terminated by a proxy. */
  readonly refusesPlainHttp: boolean;
}

interface FailureKind {
  readonly status: string;
  /** The name of the component. */
  readonly name: string;
  readonly description: string;
  readonly shape: "fields" | "message" | "either";
  readonly headers?: readonly HeaderName[];
  /** Whether it can occur before the rate limit is checked. */
  readonly beforeRateLimit?: true;
}

/** All possible failures of an endpoint, by status. */
export function failureResponses(endpoint: Endpoint, context: FailureContext): JsonObject {
  const { components } = context;
  const kinds = withRaised(failuresOf(endpoint, context), raisedBy(endpoint));
  const entries = kinds.map((kind) => {
    const isRateLimited = endpoint.rateLimit !== undefined && kind.beforeRateLimit === undefined;
    const name = isRateLimited ? `${kind.name}RateLimited` : kind.name;
    return [kind.status, components.response(name, () => responseOf(kind, isRateLimited, components))] as const;
  });
  return Object.fromEntries(entries);
}

function failuresOf(endpoint: Endpoint, { maxBodyBytes, refusesPlainHttp }: FailureContext): readonly FailureKind[] {
  const { auth, rateLimit, operation, parameters, route } = endpoint;
  const isGet = route?.method === "GET";
  const write = operation.kind === "write" ? operation : undefined;
  const blamesClient = write?.statuses.constraintFailure === "client-error";
  const mayFindNone = operation.returns === "one" || write?.statuses.unchanged === 404;
  const takesBody = !isGet && parameters.some((parameter) => parameter.in === "body");
  const kinds: (FailureKind | false)[] = [
    refusesPlainHttp && isGet && HTTPS_ELSEWHERE,
    INVALID_PARAMETERS,
    auth !== undefined && UNAUTHORIZED,
    refusesPlainHttp && !isGet && HTTPS_REQUIRED,
    mayFindNone && NO_ROW,
    NOT_ACCEPTABLE,
    write !== undefined && (blamesClient ? either(DUPLICATE, CONFLICT) : CONFLICT),
    takesBody && { ...TOO_LARGE, description: `${TOO_LARGE.description} of ${maxBodyBytes} bytes.` },
    takesBody && UNSUPPORTED_BODY,
    blamesClient && (supportsIdempotencyKey(endpoint) ? either(CONSTRAINT, KEY_REUSED) : CONSTRAINT),
    !blamesClient && supportsIdempotencyKey(endpoint) && KEY_REUSED,
    // Wrong passwords are rate-limited too.
    (rateLimit !== undefined || auth?.kind === "basic") && TOO_MANY_REQUESTS,
    QUERY_FAILED,
    UNAVAILABLE,
    QUERY_TIMEOUT,
  ];
  return kinds.filter((kind) => kind !== false);
}

/** Derives the status, headers and shape of the body from the response that the service would send. */
function kindOf(failure: Failure, name: string, description: string): FailureKind {
  const { status, headers, body } = failureResponse(failure);
  return {
    status: String(status),
    name,
    description,
    shape: "errors" in body ? "fields" : "message",
    headers: DOCUMENTED_HEADERS.filter((header) => header in headers),
  };
}

/** Two failures with the same status. Headers that only one of them has are left out. */
function either(one: FailureKind, other: FailureKind): FailureKind {
  return {
    ...one,
    name: `${one.name}Or${other.name}`,
    description: `${one.description} Or: ${other.description}`,
    headers: one.headers?.filter((name) => other.headers?.includes(name)) ?? [],
  };
}

const DOCUMENTED_HEADERS = ["Location", "Retry-After", "WWW-Authenticate"] as const satisfies readonly HeaderName[];

const INVALID_PARAMETERS = kindOf(
  { kind: "invalid-params", errors: [] },
  "InvalidParameters",
  "Parameters are missing, unknown or invalid. The body names each of them and what is wrong with it.",
);
const UNAUTHORIZED = kindOf(
  { kind: "unauthorized", scheme: "basic" },
  "Unauthorized",
  "Credentials are missing or wrong.",
);
const HTTPS_ELSEWHERE: FailureKind = {
  ...kindOf({ kind: "https-required", location: "/" }, "HttpsElsewhere", "Only available over HTTPS."),
  beforeRateLimit: true,
};
const HTTPS_REQUIRED: FailureKind = {
  ...kindOf({ kind: "https-required", location: undefined }, "HttpsRequired", "The request came over plain HTTP."),
  beforeRateLimit: true,
};
const NO_ROW = kindOf({ kind: "no-row" }, "NoRow", "No row matches.");
const DUPLICATE = kindOf(
  { kind: "constraint-failed", constraint: "unique", message: "" },
  "Duplicate",
  "A row with the same key exists. Nothing was changed.",
);
const CONSTRAINT = kindOf(
  { kind: "constraint-failed", constraint: "other", message: "" },
  "ConstraintFailed",
  "A constraint of the database rejected the change; the message comes from the database.",
);
const NOT_ACCEPTABLE = kindOf(
  { kind: "not-acceptable", offered: [] },
  "NotAcceptable",
  "`Accept` allows none of the available formats.",
);
const CONFLICT = kindOf(
  { kind: "conflict" },
  "Conflict",
  "Other requests kept changing the same rows. Nothing was changed.",
);
const TOO_LARGE = kindOf({ kind: "body-too-large" }, "BodyTooLarge", "The body is larger than the limit");
const UNSUPPORTED_BODY = kindOf(
  { kind: "unsupported-body-type" },
  "UnsupportedBodyType",
  "The body is not `application/json`.",
);
const KEY_REUSED = kindOf({ kind: "key-reused" }, "KeyReused", "The `Idempotency-Key` was used for another request.");
const TOO_MANY_REQUESTS = kindOf(
  { kind: "too-many-requests", retryAfterSeconds: 1 },
  "TooManyRequests",
  "Too many requests, or too many wrong passwords.",
);
const QUERY_FAILED = kindOf(
  { kind: "query-failed", message: "" },
  "QueryFailed",
  "The query failed; the message comes from the database.",
);
const UNAVAILABLE: FailureKind = {
  ...kindOf(
    { kind: "overloaded" },
    "Unavailable",
    "A data source is down, too many requests are waiting, or the service is stopping.",
  ),
  beforeRateLimit: true,
};
const QUERY_TIMEOUT = kindOf(
  { kind: "query-timeout", limitMs: 0 },
  "QueryTimeout",
  "The query took too long and was stopped.",
);

function responseOf(kind: FailureKind, isRateLimited: boolean, components: Components): JsonObject {
  const { description, headers = [] } = kind;
  const names = ["X-Request-Id" as const, ...headers, ...(isRateLimited ? rateLimitNames : [])];
  return {
    description,
    headers: headerReferences(names, components),
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

const RAISED_STATUS = /\berror\s*\(\s*'(4\d\d):/gi;
const RAISED_ERROR = /\berror\s*\(/i;

/** The statuses that the template raises with `error('403: not yours')`. `4XX` if a status is only known at run time. */
function raisedBy({ source }: Endpoint): readonly string[] {
  const text = source?.text ?? "";
  const statuses = [...text.matchAll(RAISED_STATUS)].map(([, status = ""]) => status);
  const others = RAISED_ERROR.test(text.replaceAll(RAISED_STATUS, "")) ? ["4XX"] : [];
  return [...new Set([...statuses, ...others])].sort();
}

/** Adds the statuses that the template raises. Eider itself may return some of them too. */
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
