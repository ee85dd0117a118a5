import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CorsInput, corsPolicyOf } from "../config/cors-policy.ts";
import { cors } from "../config/schema/main.ts";
import { type CorsPolicy, type CorsRequest, corsHeaders, variesByOrigin } from "./cors.ts";

const EXPOSED =
  "X-Total-Count, X-Offset, X-Limit, X-Next, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, ETag, Content-Disposition";

function policyOf(input: Partial<CorsInput>): CorsPolicy {
  const found = corsPolicyOf({ ...cors.parse({}), ...input });
  if ("problems" in found) throw new Error(JSON.stringify(found.problems));
  return found.policy;
}

const ANY = policyOf({ "allow-origins": ["*"] });
const LISTED = policyOf({ "allow-origins": ["https://a.example", "https://*.b.example", "null"] });
const TRUSTING = { ...LISTED, credentials: true };

/** What a page of `origin` sends. */
const call = (origin: string | undefined, method = "GET"): CorsRequest => ({
  origin,
  method,
  requestMethod: undefined,
  requestHeaders: undefined,
  allow: ["GET", "HEAD", "OPTIONS"],
});

/** What a browser asks before it lets the page send that. */
const preflight = (requestMethod: string, more: Partial<CorsRequest> = {}): CorsRequest => ({
  ...call("https://a.example", "OPTIONS"),
  requestMethod,
  allow: ["GET", "POST", "DELETE", "HEAD", "OPTIONS"],
  ...more,
});

describe("calls", () => {
  test.each<[string, CorsPolicy, string, Record<string, string>]>([
    ["anybody", ANY, "https://x.example", { "Access-Control-Allow-Origin": "*" }],
    ["anybody, of no origin", ANY, "null", { "Access-Control-Allow-Origin": "*" }],
    ["one that is listed", LISTED, "https://a.example", { "Access-Control-Allow-Origin": "https://a.example" }],
    ["one of no origin", LISTED, "null", { "Access-Control-Allow-Origin": "null" }],
    ["a subdomain", LISTED, "https://x.b.example", { "Access-Control-Allow-Origin": "https://x.b.example" }],
    ["one below that", LISTED, "https://x.y.b.example", { "Access-Control-Allow-Origin": "https://x.y.b.example" }],
    [
      "one that may use credentials",
      TRUSTING,
      "https://a.example",
      { "Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Credentials": "true" },
    ],
  ])("%s reads the answer", (_, policy, origin, expected) => {
    const { headers, isPreflight } = corsHeaders(policy, call(origin));
    expect(Object.fromEntries(headers)).toEqual({ ...expected, "Access-Control-Expose-Headers": EXPOSED });
    expect(isPreflight).toBe(false);
  });

  test.each([
    "https://x.example",
    "http://a.example",
    "https://a.example:8443",
    "https://A.example",
    "https://a.example.evil.example",
    "https://a.example/",
    "https://a.example, https://x.example",
    "https://b.example",
    "https://evilb.example",
    "https://.b.example",
    "https://x..b.example",
    "https://x/.b.example",
    "https://x#.b.example",
    "https://x@.b.example",
    "https://x:y.b.example",
    "https://x .b.example",
    "http://x.b.example",
    "https://x.b.example:8443",
    "https://x.b.example.evil.example",
    "https://*.b.example",
    "NULL",
    "undefined",
    "*",
    "",
  ])("%j gets nothing", (origin) => {
    expect(corsHeaders(LISTED, call(origin))).toEqual({ headers: [], isPreflight: false });
    expect(corsHeaders(TRUSTING, preflight("GET", { origin }))).toEqual({ headers: [], isPreflight: true });
  });

  test("a client that is no page gets nothing either", () => {
    expect(corsHeaders(ANY, call(undefined))).toEqual({ headers: [], isPreflight: false });
    expect(corsHeaders(ANY, preflight("GET", { origin: undefined }))).toEqual({ headers: [], isPreflight: false });
  });

  test("an asterisk in front of a port", () => {
    const policy = policyOf({ "allow-origins": ["http://*.localhost:3000"] });
    const reads = (origin: string): boolean => corsHeaders(policy, call(origin)).headers.length > 0;
    expect(reads("http://x.localhost:3000")).toBe(true);
    expect(["http://x.localhost", "http://x.localhost:30000", "http://localhost:3000"].some(reads)).toBe(false);
  });
});

describe("a browser asks before", () => {
  const answerTo = (policy: CorsPolicy, request: CorsRequest): Record<string, string> => {
    const { headers, isPreflight } = corsHeaders(policy, request);
    expect(isPreflight).toBe(true);
    return Object.fromEntries(headers);
  };

  test("methods are those of the policy that the path has; headers are those that are asked for", () => {
    const request = preflight("DELETE", {
      requestHeaders: "authorization,content-type , x-own,, bad name,x\u00e4,(y),idempotency-key",
    });
    expect(answerTo({ ...TRUSTING, maxAgeSeconds: 5 }, request)).toEqual({
      "Access-Control-Allow-Origin": "https://a.example",
      "Access-Control-Allow-Credentials": "true",
      "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE",
      "Access-Control-Allow-Headers": "authorization, content-type, x-own, idempotency-key",
      "Access-Control-Max-Age": "5",
    });
  });

  test("headers that are listed are told, whatever is asked for", () => {
    const policy = policyOf({ "allow-origins": ["*"], "allow-headers": ["Authorization", "X-Own"] });
    expect(answerTo(policy, preflight("GET", { requestHeaders: "x-other" }))).toEqual({
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE",
      "Access-Control-Allow-Headers": "Authorization, X-Own",
      "Access-Control-Max-Age": "600",
    });
  });

  test.each<[string, CorsRequest]>([
    ["no header is asked for", preflight("GET")],
    ["only nonsense is asked for", preflight("GET", { requestHeaders: " , ,;, " })],
  ])("%s: none is told", (_, request) => {
    expect(answerTo(ANY, request)).not.toHaveProperty("Access-Control-Allow-Headers");
  });

  test("a path with none of the methods", () => {
    const answer = answerTo(ANY, preflight("DELETE", { allow: [] }));
    expect(answer).toEqual({ "Access-Control-Allow-Origin": "*", "Access-Control-Max-Age": "600" });
  });

  test("OPTIONS without the question is a call like any other", () => {
    const answer = corsHeaders(LISTED, { ...preflight("GET"), requestMethod: undefined });
    expect(answer.isPreflight).toBe(false);
    expect(Object.fromEntries(answer.headers)).toHaveProperty("Access-Control-Expose-Headers");
  });

  test("the question without OPTIONS is a call like any other", () => {
    expect(corsHeaders(LISTED, { ...preflight("GET"), method: "GET" }).isPreflight).toBe(false);
  });
});

describe("methods that the policy leaves out", () => {
  const READERS = policyOf({ "allow-origins": ["*"], "allow-methods": ["GET"] });

  test.each(["PUT", "PATCH", "DELETE"])("a browser reads of %s in the list", (method) => {
    const { headers } = corsHeaders(READERS, preflight(method));
    expect(Object.fromEntries(headers)).toMatchObject({ "Access-Control-Allow-Methods": "GET" });
  });

  test.each(["HEAD", "POST"])("a browser lets %s through whatever the list says, so nothing else is said", (method) => {
    expect(corsHeaders(READERS, preflight(method))).toEqual({ headers: [], isPreflight: true });
    expect(corsHeaders(READERS, call("https://a.example", method))).toEqual({ headers: [], isPreflight: false });
  });
});

test.each<[string, boolean, CorsPolicy | undefined]>([
  ["no policy", false, undefined],
  ["anybody", false, ANY],
  ["a list", true, LISTED],
  ["a list, with credentials", true, TRUSTING],
  ["anybody, with credentials", true, { ...ANY, credentials: true }],
])("Vary: Origin with %s: %s", (_, expected, policy) => expect(variesByOrigin(policy)).toBe(expected));

test("no header holds anything that could end it, whatever is asked", () => {
  const text = fc.option(fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constant("https://x.b.example")), {
    nil: undefined,
  });
  const request = fc.record({
    origin: text,
    method: fc.constantFrom("OPTIONS", "GET"),
    requestMethod: text,
    requestHeaders: text,
    allow: fc.constant(["GET", "OPTIONS"]),
  });
  fc.assert(
    fc.property(request, fc.constantFrom(ANY, LISTED, TRUSTING), (asked, policy) => {
      for (const [name, value] of corsHeaders(policy, asked).headers) expect(`${name}: ${value}`).toMatch(/^[ -~]+$/);
    }),
    { numRuns: 1_000 },
  );
});
