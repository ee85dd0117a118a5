import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Components } from "./components.ts";
import type { JsonObject } from "./json.ts";

/** Headers by name. `required` ones are on every response that documents them. */
const HEADERS = {
  "X-Request-Id": {
    required: true,
    description: "Id of the request, also in the log: the client's own, or a new one.",
    schema: { type: "string" },
  },
  ETag: {
    description: "Version of the response. Send it in `If-None-Match` to get 304 when nothing changed.",
    schema: { type: "string" },
  },
  "Cache-Control": { required: true, description: "How long the response may be cached.", schema: { type: "string" } },
  "X-Total-Count": { required: true, description: "As `total_count`.", schema: { type: "integer", minimum: 0 } },
  "X-Offset": { required: true, description: "Rows skipped.", schema: { type: "integer", minimum: 0 } },
  "X-Limit": { required: true, description: "Rows per page.", schema: { type: "integer", minimum: 0 } },
  "X-Next": { required: true, description: "As `next`.", schema: { type: "string" } },
  "X-Cache": {
    required: true,
    description:
      "`hit`: cached rows. `miss`: read for this response. `stale`: cached rows, because the refresh failed.",
    schema: { type: "string", enum: ["hit", "miss", "stale"] },
  },
  Age: { required: true, description: "Seconds since the rows were read.", schema: { type: "integer", minimum: 0 } },
  "X-RateLimit-Limit": { required: true, description: "Requests per interval.", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { required: true, description: "Requests left.", schema: { type: "integer" } },
  "X-RateLimit-Reset": {
    required: true,
    description: "When the interval ends, as a Unix timestamp in seconds.",
    schema: { type: "integer" },
  },
  RateLimit: { required: true, description: "The same as a structured field.", schema: { type: "string" } },
  "RateLimit-Policy": { required: true, description: "The limit as a structured field.", schema: { type: "string" } },
  "Retry-After": {
    required: true,
    description: "Seconds to wait before retrying.",
    schema: { type: "integer", minimum: 0 },
  },
  "WWW-Authenticate": { required: true, description: "Accepted schemes.", schema: { type: "string" } },
  Location: { required: true, description: "The same over HTTPS.", schema: { type: "string", format: "uri" } },
} as const satisfies Readonly<Record<string, JsonObject>>;

export type HeaderName = keyof typeof HEADERS;

/** References to these headers, for a response. */
export function headerReferences(names: readonly HeaderName[], components: Components): JsonObject {
  return Object.fromEntries(names.map((name) => [name, components.header(name, () => HEADERS[name])]));
}

/** The headers of every response after the rate limit check. */
export const rateLimitNames: readonly HeaderName[] = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit",
  "RateLimit-Policy",
];

export const pageNames: readonly HeaderName[] = ["X-Total-Count", "X-Offset", "X-Limit", "X-Next"];

/** The headers of a successful read. A 304 has all of them except `pageNames`. */
export function readHeaderNames({ route, operation, cache, rateLimit }: Endpoint): readonly HeaderName[] {
  return [
    "X-Request-Id",
    "Cache-Control",
    // Only GET supports If-None-Match.
    ...(route?.method === "GET" ? (["ETag"] as const) : []),
    ...(operation.kind === "read" && operation.paginated ? pageNames : []),
    ...((cache?.kind === "table" && cache.isReadByTemplate) || cache?.kind === "results"
      ? (["X-Cache", "Age"] as const)
      : []),
    ...(rateLimit === undefined ? [] : rateLimitNames),
  ];
}
