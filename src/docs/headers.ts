import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Components } from "./components.ts";
import type { JsonObject } from "./json.ts";

/** Headers by name, each as it is described; `required` ones are on every answer of that kind. */
const described = {
  "X-Request-Id": {
    required: true,
    description: "Names the request: the client's own id when it sent one, else a new one. The log has it too.",
    schema: { type: "string" },
  },
  ETag: {
    description: "Names the answer. Sent back in `If-None-Match`, it makes a 304 of an answer that would be the same.",
    schema: { type: "string" },
  },
  "Cache-Control": { required: true, description: "How long the answer may be kept.", schema: { type: "string" } },
  "X-Total-Count": { required: true, description: "As `total_count`.", schema: { type: "integer", minimum: 0 } },
  "X-Offset": { required: true, description: "Rows left out.", schema: { type: "integer", minimum: 0 } },
  "X-Limit": { required: true, description: "Rows of a page.", schema: { type: "integer", minimum: 0 } },
  "X-Next": { required: true, description: "As `next`.", schema: { type: "string" } },
  "X-Cache": {
    required: true,
    description:
      "`hit`: rows that were there. `miss`: they were made for this answer. `stale`: newer ones could not be had.",
    schema: { type: "string", enum: ["hit", "miss", "stale"] },
  },
  Age: { required: true, description: "Seconds since the rows were read.", schema: { type: "integer", minimum: 0 } },
  "X-RateLimit-Limit": { required: true, description: "Requests per interval.", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { required: true, description: "Requests that are left.", schema: { type: "integer" } },
  "X-RateLimit-Reset": {
    required: true,
    description: "When all are there again, in seconds since 1970.",
    schema: { type: "integer" },
  },
  RateLimit: { required: true, description: "The same as a structured field.", schema: { type: "string" } },
  "RateLimit-Policy": { required: true, description: "The limit as a structured field.", schema: { type: "string" } },
  "Retry-After": {
    required: true,
    description: "Seconds to wait before another try.",
    schema: { type: "integer", minimum: 0 },
  },
  "WWW-Authenticate": { required: true, description: "The schemes that are taken.", schema: { type: "string" } },
  Location: { required: true, description: "The same over HTTPS.", schema: { type: "string", format: "uri" } },
} as const satisfies Readonly<Record<string, JsonObject>>;

export type HeaderName = keyof typeof described;

/** References to these headers, for a response. */
export function headersNamed(names: readonly HeaderName[], components: Components): JsonObject {
  return Object.fromEntries(names.map((name) => [name, components.header(name, () => described[name])]));
}

/** What every answer says once it is known which endpoint is meant and who asks. */
export const rateLimitNames: readonly HeaderName[] = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit",
  "RateLimit-Policy",
];

export const pageNames: readonly HeaderName[] = ["X-Total-Count", "X-Offset", "X-Limit", "X-Next"];

/** The headers of rows, a 304 included. */
export function readHeaderNames({ route, operation, cache, rateLimit }: Endpoint): readonly HeaderName[] {
  return [
    "X-Request-Id",
    "Cache-Control",
    // Only a GET can be asked again whether its answer is still the same.
    ...(route?.method === "GET" ? (["ETag"] as const) : []),
    ...(operation.kind === "read" && operation.paginated ? pageNames : []),
    ...(cache?.kind === "table" || cache?.kind === "results" ? (["X-Cache", "Age"] as const) : []),
    ...(rateLimit === undefined ? [] : rateLimitNames),
  ];
}
