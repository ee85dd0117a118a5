import { expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { startCachingProxy, testWithNginx } from "../nginx.ts";
import { linesContaining, readMetrics, type Scraped, scrape } from "../prometheus.ts";
import { endpoint, type Files, problemsFrom, serviceFrom, type TestService } from "../service.ts";
import { until } from "../until.ts";

const PUBLIC = "metrics: { public: true }\n";
const MAIN = `connections: { memory: {} }\n${PUBLIC}`;
const TABLE = `${PUBLIC}connections: { memory: { init: "CREATE TABLE IF NOT EXISTS t AS SELECT range AS i FROM range(1000)" } }\n`;
const N = "request:\n  - { field-name: n, field-in: query, validators: [{ type: int, max: 500 }] }\n";
const add: Files = {
  "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [memory]\n",
  "add.sql": "INSERT INTO t SELECT 1 FROM range(3)",
};

const of = (name: string, labels: Record<string, string>): string =>
  `${name}{${Object.entries(labels)
    .map(([key, value]) => `${key}="${value}"`)
    .join(",")}}`;

/** Calls are counted when their answer has gone out, which the client may notice first. */
async function counted(service: TestService, line: string, value: number): Promise<Scraped> {
  return await until(`${line} ${value}`, async () => {
    const scraped = await scrape(service.url);
    return scraped.get(line) === value ? scraped : undefined;
  });
}

test("calls by endpoint, surface, status and format; never by what was asked for", async () => {
  await using service = await serviceFrom({
    "eider.yaml": TABLE,
    ...endpoint("SELECT i FROM t WHERE i < {{params.n}}", N),
    ...add,
  });
  for (const path of ["/x?n=7", "/x?n=8&format=csv", "/x?n=501", "/x?n=secret", "/nowhere/secret"]) {
    await (await service.get(path)).text();
  }
  await (await service.request("/add", { method: "POST", headers: { "Content-Type": "application/json" } })).text();
  const requests = (endpointName: string, status: string, format: string): string =>
    of("eider_requests_total", { endpoint: endpointName, surface: "rest", status, format });
  const scraped = await counted(service, requests("POST /add", "200", "json"), 1);
  expect(scraped.get(requests("GET /x", "200", "json"))).toBe(1);
  expect(scraped.get(requests("GET /x", "200", "csv"))).toBe(1);
  expect(scraped.get(requests("GET /x", "400", "json"))).toBe(2);
  const x = { endpoint: "GET /x", surface: "rest" };
  expect(scraped.get(of("eider_rows_total", x))).toBe(15);
  expect(scraped.get(of("eider_rows_total", { endpoint: "POST /add", surface: "rest" }))).toBe(3);
  expect(scraped.get(of("eider_response_bytes_total", x))).toBeGreaterThan(4 * 200);
  expect(scraped.get(of("eider_request_duration_seconds_count", x))).toBe(4);
  expect(scraped.get(of("eider_request_duration_seconds_bucket", { ...x, le: "+Inf" }))).toBe(4);
  expect(scraped.get(of("eider_call_failures_total", { endpoint: "GET /x", kind: "invalid-params" }))).toBe(2);
  expect(scraped.get(of("eider_call_failures_total", { endpoint: "", kind: "not-found" }))).toBe(1);
  expect([...scraped.keys()].filter((line) => /secret|nowhere|501/.test(line))).toEqual([]);
});

test("the time of a call is that of its phases", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT i FROM range({{params.n}}) t(i)", `with-pagination: false\n${N}`),
  });
  for (const n of [1, 2, 3]) await (await service.get(`/x?n=${n}`)).text();
  const x = { endpoint: "GET /x", surface: "rest" };
  const scraped = await counted(service, of("eider_request_duration_seconds_count", x), 3);
  let sum = 0;
  for (const phase of ["validate", "prepare", "render", "queue", "first_row", "stream"]) {
    expect(scraped.get(of("eider_phase_duration_seconds_count", { phase }))).toBe(3);
    sum += scraped.get(of("eider_endpoint_phase_seconds_total", { ...x, phase })) ?? 0;
  }
  expect(sum).toBeCloseTo(scraped.get(of("eider_request_duration_seconds_sum", x)) ?? 0, 3);
});

test("what was spared: remembered answers and totals, shared executions", async () => {
  await using service = await serviceFrom({
    "eider.yaml": TABLE,
    ...endpoint("SELECT i FROM t"),
    // It takes so long that others ask for the same meanwhile.
    "long.yaml": "url-path: /long\ntemplate-source: long.sql\nconnection: [memory]\n",
    "long.sql": "SELECT DISTINCT a.i * b.i AS n FROM t a, t b ORDER BY n",
  });
  const remembered = of("eider_response_cache_hits_total", { endpoint: "GET /x", surface: "rest" });
  const rows = of("eider_rows_total", { endpoint: "GET /x", surface: "rest" });
  await until("an answer that was known", async () => {
    await (await service.get("/x?limit=10")).text();
    return ((await scrape(service.url)).get(remembered) ?? 0) > 0;
  });
  const scraped = await scrape(service.url);
  // Rows that were remembered are rows that were sent.
  expect((scraped.get(rows) ?? 0) % 10).toBe(0);
  await until("a total that was known", async () => {
    await (await service.get("/x?limit=10&offset=20")).text();
    await (await service.get("/x?limit=10&offset=30")).text();
    return ((await scrape(service.url)).get("eider_remembered_totals_total") ?? 0) > 0;
  });
  await until("rows that were shared", async () => {
    const n = Math.floor(Math.random() * 900);
    await Promise.all(Array.from({ length: 8 }, async () => (await service.get(`/long?limit=50&offset=${n}`)).text()));
    return ((await scrape(service.url)).get("eider_shared_reads_total") ?? 0) > 0;
  });
});

test("the database, its connections and its caches", async () => {
  await using service = await serviceFrom({
    "eider.yaml": `${TABLE}cache: {}\n`,
    ...endpoint(
      "SELECT i FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}} LIMIT 5",
      "cache: { table: few, template-file: few.sql }\n",
    ),
    "few.sql": "SELECT i FROM t LIMIT 50",
  });
  await (await service.get("/x")).text();
  await (await service.get("/x?limit=2")).text();
  const scraped = await until("both reads", async () => {
    const found = await scrape(service.url);
    const reads = linesContaining(found, "eider_cache_reads_total").map((line) => found.get(line) ?? 0);
    return reads.reduce((sum, count) => sum + count, 0) === 2 ? found : undefined;
  });
  const [cache = ""] = linesContaining(scraped, "eider_cache_rows").map((line) => /cache="([^"]*)"/.exec(line)?.[1]);
  expect(cache).toMatch(/\.few$/);
  expect(scraped.get(of("eider_cache_rows", { cache }))).toBe(50);
  expect(scraped.get(of("eider_cache_stale", { cache }))).toBe(0);
  expect(scraped.get(of("eider_cache_failing", { cache }))).toBe(0);
  expect(scraped.get(of("eider_cache_age_seconds", { cache }))).toBeGreaterThanOrEqual(0);
  expect(scraped.get(of("eider_cache_refresh_duration_seconds_count", { cache }))).toBe(1);
  expect(scraped.get(of("eider_connection_up", { connection: "memory" }))).toBe(1);
  expect(scraped.get("eider_database_memory_limit_bytes")).toBeGreaterThan(1_000_000);
  expect(scraped.get("eider_database_spilled_bytes")).toBe(0);
  expect(scraped.get("eider_queries_waiting")).toBe(0);
  expect(scraped.get("eider_endpoints")).toBe(1);
});

test("refusals: too many calls, wrong credentials", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT 1 AS a", "rate-limit: { max: 2, interval: 60 }\nauth: { type: bearer, token: right }\n"),
  });
  for (const token of ["right", "wrong", "right"]) {
    await (await service.get("/x", { Authorization: `Bearer ${token}` })).text();
  }
  const failures = (kind: string): string => of("eider_call_failures_total", { endpoint: "GET /x", kind });
  const scraped = await counted(service, failures("too-many-requests"), 1);
  expect(scraped.get(failures("unauthorized"))).toBe(1);
});

test("an endpoint that is gone after a reload takes its series along; the others go on", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...endpoint("SELECT 1 AS a"),
    "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: [memory]\n",
    "y.sql": "SELECT 2 AS b",
  });
  await (await service.get("/x")).text();
  await (await service.get("/y")).text();
  const x = of("eider_request_duration_seconds_count", { endpoint: "GET /x", surface: "rest" });
  const y = of("eider_request_duration_seconds_count", { endpoint: "GET /y", surface: "rest" });
  await counted(service, y, 1);
  await counted(service, x, 1);
  const left = service.service.endpoints.filter(({ name }) => name === "GET /x");
  const begin = await service.observation.surface.prepare({ ...service.service, endpoints: left });
  begin();
  // A call that was still under way when the project changed leaves nothing behind.
  await (await service.get("/y")).text();
  const scraped = await counted(service, x, 1);
  expect(linesContaining(scraped, "GET /y")).toEqual([]);
});

test("public: on the REST port for every client", async () => {
  await using service = await serviceFrom({ "eider.yaml": MAIN, ...endpoint("SELECT 1 AS a") });
  expect(service.problems).toEqual([]);
  const { status, headers, body } = await sendRequest(`${service.url}/metrics`);
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(headers["cache-control"]).toBe("no-store");
  expect(readMetrics(body.toString()).get("eider_endpoints")).toBe(1);
  expect((await sendRequest(`${service.url}/metrics`, { headers: { "X-Forwarded-For": "192.0.2.1" } })).status).toBe(
    200,
  );
  expect((await sendRequest(`${service.url}/metrics`, { method: "POST" })).status).toBe(405);
  expect((await sendRequest(`${service.url}/metrics`, { method: "HEAD" })).status).toBe(200);
});

const NOT_FOUND = [404, '{"error":"Not Found"}'];

test("else not on the REST port, not even for this machine", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\ntrusted-proxies: [127.0.0.1]\n",
    ...endpoint("SELECT 1 AS a"),
  });
  for (const [path, headers] of [
    ["/metrics", {}],
    ["/metrics/", {}],
    ["/metrics", { "X-Forwarded-For": "127.0.0.1" }],
    ["/metrics", { Host: "localhost" }],
  ] as const) {
    const { status, body } = await sendRequest(service.url + path, { headers: { ...headers } });
    expect([status, body.toString()]).toEqual(NOT_FOUND);
  }
  expect((await service.get("/health")).status).toBe(200);
});

testWithNginx("nor behind a real proxy on this machine that adds no forwarding header", async () => {
  await using service = await serviceFrom(endpoint("SELECT 1 AS a"));
  await using proxy = await startCachingProxy(service.url);
  expect((await sendRequest(`${proxy.url}/x`)).status).toBe(200);
  const { status, body } = await sendRequest(`${proxy.url}/metrics`);
  expect([status, body.toString()]).toEqual(NOT_FOUND);
});

test.each([
  ["metrics: {}", "2:1: warning: metrics: /metrics is not served; enable admin, or set metrics.public: true"],
  ["metrics: { public: false }", "2:1: warning: metrics: /metrics is not served; enable admin"],
  [
    "metrics: { public: true }\nhttp-host: 0.0.0.0",
    "2:12: warning: metrics.public: every client that reaches 0.0.0.0 can read /metrics; enable admin instead",
  ],
  [
    "metrics: { public: true }\nadmin: {}",
    "2:12: warning: metrics.public: without effect: /metrics is on the admin listener, 127.0.0.1:9090; remove this",
  ],
  ["metrics: { enabled: false, public: true }\nhttp-host: 0.0.0.0", undefined],
  ["metrics: { public: true }", undefined],
  ["metrics: {}\nadmin: {}", undefined],
  ["log: {}", undefined],
])("%j: what a start and a check say", async (yaml, expected) => {
  const problems = await problemsFrom({
    "eider.yaml": `connections: { memory: {} }\n${yaml}\n`,
    ...endpoint("SELECT 1 AS a"),
  });
  if (expected === undefined) expect(problems).toEqual([]);
  else expect(problems).toEqual([expect.stringContaining(`eider.yaml:${expected}`)]);
});

test("switched off: nothing is there", async () => {
  await using service = await serviceFrom({
    "eider.yaml": "connections: { memory: {} }\nmetrics: { enabled: false }\n",
    ...endpoint("SELECT 1 AS a"),
  });
  await (await service.get("/x")).text();
  expect((await service.get("/metrics")).status).toBe(404);
  expect((await service.get("/health")).status).toBe(200);
});

test("they are told while the service stops, and from plain HTTP where HTTPS is enforced", async () => {
  await using service = await serviceFrom({
    "eider.yaml": `${MAIN}enforce-https: {}\n`,
    ...endpoint("SELECT 1 AS a"),
  });
  service.app.drain();
  expect((await service.get("/metrics")).status).toBe(200);
});

test("a heartbeat that fails is in the metrics and in /health/ready, and one that works is not", async () => {
  await using service = await serviceFrom({
    "eider.yaml": `${MAIN}heartbeat: { worker-interval: 3600 }\n`,
    ...endpoint("SELECT error('down') AS a", "heartbeat: {}\nrate-limit: { max: 1, interval: 3600 }\n"),
    "y.yaml":
      "url-path: /y\ntemplate-source: y.sql\nconnection: [memory]\nheartbeat: {}\nauth: { type: bearer, token: t }\n",
    "y.sql": "SELECT 2 AS b",
  });
  const up = (name: string): string => of("eider_heartbeat_up", { endpoint: name });
  const scraped = await counted(service, up("GET /x"), 0);
  await counted(service, up("GET /y"), 1);
  expect(await service.json("/health/ready")).toEqual({ status: "degraded", heartbeats: ["GET /x"] });
  expect(scraped.get(of("eider_heartbeat_failures_total", { endpoint: "GET /x" }))).toBe(1);
  // Nobody called: no limit is used up, and no call is counted.
  expect(linesContaining(scraped, "eider_requests_total")).toEqual([]);
  expect((await service.get("/x")).status).toBe(500);
});
