/** Which pages of other origins may call, and how. Without one the browser lets none. */
export interface CorsPolicy {
  /** As browsers spell them; `https://*.example.com` stands for every subdomain, `null` for pages that hide theirs. */
  readonly origins: "any" | readonly string[];
  /** "any": whatever a page requests. */
  readonly headers: "any" | readonly string[];
  readonly methods: readonly string[];
  /** Whether a page may call in the name of its user, with cookies or saved passwords. */
  readonly credentials: boolean;
  readonly maxAgeSeconds: number;
}

/** What a request says that matters here, and which methods its path has. */
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
  /** Whether it is a preflight request: only headers are expected, and no credentials. */
  readonly preflight: boolean;
}

/** Our headers that a page may read; the plain ones of HTTP it may read anyway. */
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

/** Browsers let these through whatever `Access-Control-Allow-Methods` says. */
const ALWAYS_LET_THROUGH: readonly string[] = ["GET", "HEAD", "POST"];

/** The characters of a header's name. RFC 9110, 5.6.2. */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const NOTHING = { headers: [], preflight: false } as const;

/** The headers that let a page read the response. A page that is not allowed gets none, and the browser blocks it. */
export function corsHeaders(policy: CorsPolicy, request: CorsRequest): CorsHeaders {
  const { origin, method, requestMethod } = request;
  if (origin === undefined) return NOTHING;
  const preflight = method === "OPTIONS" && requestMethod !== undefined;
  const wanted = preflight ? requestMethod : method;
  const isHeldBack = ALWAYS_LET_THROUGH.includes(wanted) && !policy.methods.includes(wanted);
  if (isHeldBack || !isAllowed(policy.origins, origin)) return { headers: [], preflight };
  const headers: [string, string][] = [["Access-Control-Allow-Origin", variesByOrigin(policy) ? origin : "*"]];
  if (policy.credentials) headers.push(["Access-Control-Allow-Credentials", "true"]);
  if (!preflight) {
    headers.push(["Access-Control-Expose-Headers", EXPOSED]);
    return { headers, preflight };
  }
  const methods = policy.methods.filter((name) => request.allow.includes(name));
  const names = policy.headers === "any" ? namesIn(request.requestHeaders) : policy.headers;
  if (methods.length > 0) headers.push(["Access-Control-Allow-Methods", methods.join(", ")]);
  if (names.length > 0) headers.push(["Access-Control-Allow-Headers", names.join(", ")]);
  headers.push(["Access-Control-Max-Age", String(policy.maxAgeSeconds)]);
  return { headers, preflight };
}

/** Whether responses differ by origin, so that they need `Vary: Origin`. */
export function variesByOrigin(policy: CorsPolicy | undefined): boolean {
  return policy !== undefined && (policy.origins !== "any" || policy.credentials);
}

function isAllowed(origins: CorsPolicy["origins"], origin: string): boolean {
  return origins === "any" || origins.some((allowed) => isMeant(allowed, origin));
}

const LABELS = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** In `https://*.example.com` any number of labels stand for the asterisk, but not none. */
function isMeant(allowed: string, origin: string): boolean {
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
