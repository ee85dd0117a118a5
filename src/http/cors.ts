/** Which web pages from other origins may send requests. Without a policy, browsers block all of them. */
export interface CorsPolicy {
  /** As browsers write them. `https://*.example.com` matches every subdomain. `null` matches pages without an origin. */
  readonly origins: "any" | readonly string[];
  /** "any" allows every requested header. */
  readonly headers: "any" | readonly string[];
  readonly methods: readonly string[];
  /** Whether a page may send cookies or saved passwords. */
  readonly credentials: boolean;
  readonly maxAgeSeconds: number;
}

/** The parts of a request that matter for CORS, and the methods of its path. */
export interface CorsRequest {
  readonly origin: string | undefined;
  readonly method: string;
  /** `Access-Control-Request-Method` and `-Headers`. */
  readonly requestMethod: string | undefined;
  readonly requestHeaders: string | undefined;
  readonly allow: readonly string[];
}

export interface CorsHeaders {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Whether this is the response to a preflight request, which has no credentials and no body. */
  readonly isPreflight: boolean;
}

/** The response headers that pages may read, besides those that browsers always allow. */
const EXPOSED = [
  "X-Total-Count",
  "X-Offset",
  "X-Limit",
  "X-Next",
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "ETag",
  "Content-Disposition",
].join(", ");

/** Browsers allow these methods regardless of `Access-Control-Allow-Methods`. */
const ALWAYS_ALLOWED: readonly string[] = ["GET", "HEAD", "POST"];

/** The name of a header (RFC 9110, section 5.6.2). */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const NO_HEADERS = { headers: [], isPreflight: false } as const;

/** The headers that let a page read the response. Without them, the browser withholds it. */
export function corsHeaders(policy: CorsPolicy, request: CorsRequest): CorsHeaders {
  const { origin, method, requestMethod } = request;
  if (origin === undefined) return NO_HEADERS;
  const isPreflight = method === "OPTIONS" && requestMethod !== undefined;
  const wanted = isPreflight ? requestMethod : method;
  const isForbidden = ALWAYS_ALLOWED.includes(wanted) && !policy.methods.includes(wanted);
  if (isForbidden || !isAllowed(policy.origins, origin)) return { headers: [], isPreflight };
  const headers: [string, string][] = [["Access-Control-Allow-Origin", variesByOrigin(policy) ? origin : "*"]];
  if (policy.credentials) headers.push(["Access-Control-Allow-Credentials", "true"]);
  if (!isPreflight) {
    headers.push(["Access-Control-Expose-Headers", EXPOSED]);
    return { headers, isPreflight };
  }
  const methods = policy.methods.filter((name) => request.allow.includes(name));
  const names = policy.headers === "any" ? namesIn(request.requestHeaders) : policy.headers;
  if (methods.length > 0) headers.push(["Access-Control-Allow-Methods", methods.join(", ")]);
  if (names.length > 0) headers.push(["Access-Control-Allow-Headers", names.join(", ")]);
  headers.push(["Access-Control-Max-Age", String(policy.maxAgeSeconds)]);
  return { headers, isPreflight };
}

/** Whether responses differ by origin, so that they need `Vary: Origin`. */
export function variesByOrigin(policy: CorsPolicy | undefined): boolean {
  return policy !== undefined && (policy.origins !== "any" || policy.credentials);
}

function isAllowed(origins: CorsPolicy["origins"], origin: string): boolean {
  return origins === "any" || origins.some((allowed) => matchesOrigin(allowed, origin));
}

const LABELS = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** In `https://*.example.com`, the asterisk matches one or more labels. */
function matchesOrigin(allowed: string, origin: string): boolean {
  const star = allowed.indexOf("*");
  if (star < 0) return allowed === origin;
  const [before, after] = [allowed.slice(0, star), allowed.slice(star + 1)];
  if (!origin.startsWith(before) || !origin.endsWith(after)) return false;
  return LABELS.test(origin.slice(before.length, -after.length));
}

function namesIn(header = ""): readonly string[] {
  return header
    .split(",")
    .map((name) => name.trim())
    .filter((name) => TOKEN.test(name));
}
