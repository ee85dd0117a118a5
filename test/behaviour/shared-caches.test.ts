import { describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { startCachingProxy, testWithNginx } from "../nginx.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const TOKENS = { ann: "a".repeat(32), bob: "b".repeat(32) };
const bearer = (user: keyof typeof TOKENS): Record<string, string> => ({ Authorization: `Bearer ${TOKENS[user]}` });
const AUTH = `auth: { type: bearer, tokens: [{ token: ${TOKENS.ann}, username: ann }, { token: ${TOKENS.bob}, username: bob }] }\n`;
const HEADER = "request: [{ field-name: x_tenant, field-in: header }]\n";
const MAIN = "connections: { db: { init: CREATE TABLE t AS SELECT range AS id FROM range(100000) } }\n";

function at(path: string, sql: string, yaml = ""): Files {
  const name = path.slice(1);
  return {
    [`${name}.yaml`]: `url-path: ${path}\ntemplate-source: ${name}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

/** Every kind of endpoint that gives different clients different rows, and one that gives everybody the same. */
const PROJECT: Files = {
  "eider.yaml": MAIN,
  ...at("/everybody", "SELECT count(*)::INTEGER AS n FROM t", "cache: { table: e, schedule: 1h }\n"),
  ...at("/tenant", whose("params.x_tenant"), `${HEADER}cache: { table: t, schedule: 1h }\n`),
  ...at("/tenant-live", whose("params.x_tenant"), HEADER),
  ...at("/tenant-required", whose("params.x_tenant"), `${HEADER.replace("header }", "header, required: true }")}`),
  ...at("/user", whose("auth.username"), `${AUTH}cache: { table: u, schedule: 1h }\n`),
  ...at("/user-live", whose("auth.username"), AUTH),
};

/** A row that says whose it is; `nobody` when the value is absent, and nothing when it is empty. */
function whose(value: string): string {
  return `SELECT coalesce({{${value}}}, 'nobody') AS whose, count(*)::INTEGER AS n FROM t`;
}

describe("a real nginx with proxy_cache", () => {
  testWithNginx("its default rules: no row of one client reaches another", () => holdsBehind(""));

  // For responses that say nothing themselves.
  testWithNginx("with proxy_cache_valid: the same", () => holdsBehind("proxy_cache_valid any 1h;"));

  async function holdsBehind(directives: string): Promise<void> {
    await using service = await serviceFrom(PROJECT);
    await using proxy = await startCachingProxy(service.url, directives);
    const clients = [
      ["/tenant", { "X-Tenant": "north" }, "north"],
      ["/tenant", { "X-Tenant": "south" }, "south"],
      ["/tenant", { "X-Tenant": "" }, ""],
      ["/tenant", {}, "nobody"],
      ["/tenant-live", { "X-Tenant": "north" }, "north"],
      ["/tenant-live", { "X-Tenant": "south" }, "south"],
      ["/tenant-live", { "X-Tenant": "" }, ""],
      ["/tenant-live", {}, "nobody"],
      ["/tenant-required", { "X-Tenant": "" }, ""],
      ["/tenant-required", { "X-Tenant": "north" }, "north"],
      ["/tenant-required", {}, 400],
      ["/user", bearer("ann"), "ann"],
      ["/user", bearer("bob"), "bob"],
      ["/user", {}, 401],
      ["/user-live", bearer("ann"), "ann"],
      ["/user-live", bearer("bob"), "bob"],
      ["/user-live", {}, 401],
    ] as const;
    // Often enough for what is remembered to be used; forwards and backwards, so that everybody comes after everybody.
    for (const round of [1, 2, 3, 4]) {
      for (const [path, headers, expected] of round % 2 === 0 ? clients.toReversed() : clients) {
        const { status, headers: received, body } = await sendRequest(proxy.url + path, { headers: { ...headers } });
        const seen = status === 200 ? (JSON.parse(body.toString()) as [{ whose: string }])[0].whose : status;
        expect([path, headers, seen]).toEqual([path, headers, expected]);
        expect(received["x-proxy-cache"]).toBe("MISS");
      }
    }
    // It does store what is everybody's.
    await sendRequest(`${proxy.url}/everybody`);
    expect((await sendRequest(`${proxy.url}/everybody`)).headers["x-proxy-cache"]).toBe("HIT");
  }

  testWithNginx("told to ignore Cache-Control: Vary still keeps tenants and users apart", async () => {
    await using service = await serviceFrom(PROJECT);
    const directives = "proxy_ignore_headers Cache-Control; proxy_cache_valid 200 1h;";
    await using proxy = await startCachingProxy(service.url, directives);
    for (const proxyCache of ["MISS", "HIT"]) {
      for (const [path, headers, expected] of [
        ["/tenant", { "X-Tenant": "north" }, "north"],
        ["/tenant", { "X-Tenant": "south" }, "south"],
        ["/tenant-live", { "X-Tenant": "north" }, "north"],
        ["/tenant-live", { "X-Tenant": "south" }, "south"],
        ["/user", bearer("ann"), "ann"],
        ["/user", bearer("bob"), "bob"],
        ["/user-live", bearer("ann"), "ann"],
        ["/user-live", bearer("bob"), "bob"],
      ] as const) {
        const { headers: received, body } = await sendRequest(proxy.url + path, { headers: { ...headers } });
        expect(JSON.parse(body.toString())).toEqual([{ whose: expected, n: 100_000 }]);
        expect(received["x-proxy-cache"]).toBe(proxyCache);
      }
    }
  });
});

describe("Vary and Cache-Control", () => {
  const both = `${AUTH}request: [{ field-name: x_tenant, field-in: header }, { field-name: n, field-in: query, validators: [{ type: int }] }]\n`;
  const VARY = "Accept, Accept-Encoding, X-Tenant, Authorization";
  const FILES: Files = {
    "eider.yaml": MAIN,
    ...at("/x", "SELECT 1 AS n", both),
    ...at("/cached", "SELECT 1 AS n", `${both}cache: { table: c, schedule: 30s }\n`),
    ...at("/long", "SELECT id FROM t", both),
    ...at("/forbidden", "SELECT error('403: not yours') AS n", both),
    ...at("/broken", "SELECT error('broken') AS n", both),
    ...at("/write", "INSERT INTO t VALUES (1)", `method: POST\n${both}`),
    ...at("/header", "SELECT 1 AS n", HEADER),
    ...at("/open", "SELECT 1 AS n"),
  };

  const get = (service: TestService, path: string, headers: Record<string, string> = {}) =>
    sendRequest(service.url + path, { headers: { ...bearer("ann"), ...headers } });

  test("every response of an endpoint names its headers and Authorization, and is private or not stored", async () => {
    await using service = await serviceFrom(FILES);
    const first = await get(service, "/x");
    const tag = first.headers.etag ?? "";
    const cachedTag = (await get(service, "/cached")).headers.etag ?? "";
    const write = (headers: Record<string, string>) => sendRequest(`${service.url}/write`, { method: "POST", headers });
    for (const [what, response, status, cacheControl] of [
      ["whole", first, 200, "private, no-cache"],
      ["with the header", await get(service, "/x", { "X-Tenant": "north" }), 200, "private, no-cache"],
      ["again", await get(service, "/x"), 200, "private, no-cache"],
      ["from memory", await get(service, "/x"), 200, "private, no-cache"],
      ["unchanged", await get(service, "/x", { "If-None-Match": tag }), 304, "private, no-cache"],
      [
        "HEAD",
        await sendRequest(`${service.url}/x`, { method: "HEAD", headers: bearer("ann") }),
        200,
        "private, no-cache",
      ],
      ["cached", await get(service, "/cached"), 200, "private, max-age=30"],
      ["cached, unchanged", await get(service, "/cached", { "If-None-Match": cachedTag }), 304, "private, max-age=30"],
      [
        "cached, unchanged, as before",
        await get(service, "/cached", { "If-None-Match": cachedTag }),
        304,
        "private, max-age=30",
      ],
      ["cached file", await get(service, "/cached?format=parquet"), 200, "private, max-age=30"],
      ["streamed", await get(service, "/long"), 200, "private, no-cache"],
      ["compressed", await get(service, "/long?limit=1000", { "Accept-Encoding": "gzip" }), 200, "private, no-cache"],
      ["file", await get(service, "/x?format=parquet"), 200, "private, no-cache"],
      ["written", await write(bearer("ann")), 200, "no-store"],
      ["not written", await write({}), 401, "no-store"],
      ["invalid", await get(service, "/x?n=z"), 400, "no-store"],
      ["no credentials", await sendRequest(`${service.url}/cached`), 401, "no-store"],
      ["refused", await get(service, "/forbidden"), 403, "no-store"],
      ["not acceptable", await get(service, "/x", { Accept: "image/png" }), 406, "no-store"],
      ["failed", await get(service, "/broken"), 500, "no-store"],
    ] as const) {
      const { vary, "cache-control": sent } = response.headers;
      expect([what, response.status, vary, sent]).toEqual([what, status, VARY, cacheControl]);
    }
    for (const [path, vary, cacheControl] of [
      ["/header", "Accept, Accept-Encoding, X-Tenant", "private, no-cache"],
      ["/open", "Accept, Accept-Encoding", "no-cache"],
    ] as const) {
      const { headers } = await sendRequest(service.url + path);
      expect([path, headers.vary, headers["cache-control"]]).toEqual([path, vary, cacheControl]);
    }
  });

  test("each header is named once, and Origin is kept", async () => {
    const named = ["accept", "authorization", "origin", "x_a"].map(
      (name) => `{ field-name: ${name}, field-in: header }`,
    );
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}cors: { allow-origins: [https://app.test] }\ndocs: { auth: true }\n${AUTH}`,
      ...at("/x", "SELECT 1 AS n", `${AUTH}request: [${named.join(", ")}]\n`),
      ...at("/y", "SELECT 1 AS n", "auth: { enabled: false }\n"),
    });
    for (const _ of [1, 2, 3, 4]) {
      const { headers } = await get(service, "/x", { Origin: "https://app.test" });
      expect(headers.vary).toBe("Accept, Accept-Encoding, Authorization, Origin, X-A");
      expect((await get(service, "/y")).headers.vary).toBe("Accept, Accept-Encoding, Origin");
    }
    const options = await sendRequest(`${service.url}/x`, {
      method: "OPTIONS",
      headers: { Origin: "https://app.test" },
    });
    expect([options.status, options.headers.vary]).toEqual([204, "Origin"]);
  });

  test("/docs with docs.auth", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}cors: { allow-origins: [https://app.test] }\ndocs: { auth: true }\n${AUTH}`,
      ...at("/x", "SELECT 1 AS n"),
    });
    const VARY_DOCS = "Accept, Accept-Encoding, Authorization, Origin";
    const document = await get(service, "/docs");
    const known = { "If-None-Match": document.headers.etag ?? "" };
    for (const [response, status, cacheControl] of [
      [document, 200, "private, no-cache"],
      [await get(service, "/docs", known), 304, "private, no-cache"],
      [await get(service, "/openapi.yaml"), 200, "private, no-cache"],
      [await sendRequest(`${service.url}/docs`), 401, "no-store"],
      [await get(service, "/docs", { Accept: "text/html" }), 200, "private, no-cache"],
    ] as const) {
      const { vary, "cache-control": sent } = response.headers;
      expect([response.status, vary, sent]).toEqual([status, VARY_DOCS, cacheControl]);
    }
    const page = (await get(service, "/docs", { Accept: "text/html" })).body.toString();
    const asset = await get(service, `/${/docs\/assets\/[^"]+/.exec(page)?.[0]}`);
    expect([asset.status, asset.headers.vary]).toEqual([200, "Accept-Encoding, Origin"]);
  });
});
