import { expect, test } from "vitest";
import { MODERN_META, mcpServer, mcpSettings, taskSettings } from "../../../test/mcp-server.ts";

const LEGACY = { jsonrpc: "2.0", id: 1, method: "ping" };
const modern = (over: object = {}, meta: object = {}) => ({
  jsonrpc: "2.0",
  id: "m",
  method: "tools/list",
  params: { _meta: { ...MODERN_META, ...meta } },
  ...over,
});
const HEADERS = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" };
const CALL = { ...HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "greet" };
const call = (name: unknown) =>
  modern({ method: "tools/call", params: { _meta: MODERN_META, name, arguments: { name: "A" } } });
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

type Row = readonly [
  what: string,
  headers: Record<string, string>,
  body: unknown,
  status: number,
  code: number | undefined,
];

/** The order of checks: a request that fails two gets the error of the first. */
const ladder: readonly Row[] = [
  ["1: host", { Host: "evil.example" }, LEGACY, 403, 403],
  ["1: origin", { Origin: "http://evil.example" }, LEGACY, 403, 403],
  ["1: origin before type", { Origin: "null", "Content-Type": "text/plain" }, LEGACY, 403, 403],
  ["1: own origin", { Origin: "http://127.0.0.1:99" }, LEGACY, 200, undefined],
  ["3: type", { "Content-Type": "text/plain" }, "{", 415, 415],
  ["4: size", {}, `"${"x".repeat(4 << 20)}"`, 413, 413],
  ["5: JSON", {}, "{", 400, -32700],
  ["5: UTF-8", {}, Buffer.from([0x22, 0xff, 0x22]), 400, -32700],
  ["6: object", {}, "7", 400, -32600],
  ["6: id type", {}, { ...LEGACY, id: [] }, 400, -32600],
  ["6: params", {}, { ...LEGACY, params: 1 }, 400, -32600],
  ["6: null id, modern", HEADERS, modern({ id: null }), 400, -32600],
  ["6: null id, legacy", {}, { ...LEGACY, id: null }, 200, undefined],
  [
    "9: notification",
    HEADERS,
    { jsonrpc: "2.0", method: "notifications/x", params: { _meta: MODERN_META } },
    202,
    undefined,
  ],
  ["9: a call without an id", HEADERS, { ...call("greet"), id: undefined }, 202, undefined],
  ["9: legacy notification", {}, { jsonrpc: "2.0", method: "notifications/initialized" }, 202, undefined],
  ["9: an unexpected response", {}, { jsonrpc: "2.0", id: 1, result: {} }, 202, undefined],
  ["10: header alone", HEADERS, { ...LEGACY, method: "tools/list" }, 400, -32602],
  ["10: _meta no object", HEADERS, modern({ params: { _meta: 7 } }), 400, -32602],
  ["10: version no text", HEADERS, modern({}, { [VERSION]: 7 }), 400, -32602],
  ["10: no capabilities", HEADERS, modern({ params: { _meta: { [VERSION]: "2026-07-28" } } }), 400, -32602],
  ["10: capabilities no object", HEADERS, modern({}, { [CAPABILITIES]: [] }), 400, -32602],
  ["10: token of a wrong type", HEADERS, modern({}, { progressToken: {} }), 400, -32602],
  ["10: level that is none", HEADERS, modern({}, { "io.modelcontextprotocol/logLevel": "loud" }), 400, -32602],
  ["11: versions differ", { ...HEADERS, "MCP-Protocol-Version": "2025-11-25" }, modern(), 400, -32020],
  ["11 before 12", HEADERS, modern({}, { [VERSION]: "2099-01-01" }), 400, -32020],
  [
    "12: version",
    { ...HEADERS, "MCP-Protocol-Version": "2099-01-01" },
    modern({}, { [VERSION]: "2099-01-01" }),
    400,
    -32022,
  ],
  ["13: no version header", { "Mcp-Method": "tools/list" }, modern(), 400, -32020],
  ["13: no method header", { "MCP-Protocol-Version": "2026-07-28" }, modern(), 400, -32020],
  ["13: other method", { ...HEADERS, "Mcp-Method": "tools/call" }, modern(), 400, -32020],
  ["13: no name header", { ...HEADERS, "Mcp-Method": "tools/call" }, call("greet"), 400, -32020],
  ["13: other name", { ...CALL, "Mcp-Name": "meet" }, call("greet"), 400, -32020],
  ["13: name in base64", { ...CALL, "Mcp-Name": encoded("greet") }, call("greet"), 200, undefined],
  ["13: bad base64", { ...CALL, "Mcp-Name": "=?base64?gre*t?=" }, call("greet"), 400, -32020],
  ["13: base64 of no text", { ...CALL, "Mcp-Name": "=?base64?/w==?=" }, call("\ufffd"), 400, -32020],
  ["13 before 14", { ...HEADERS, "Mcp-Method": "x" }, modern({ method: "y" }), 400, -32020],
  ["14: unknown method", { ...HEADERS, "Mcp-Method": "x" }, modern({ method: "x" }), 404, -32601],
  ["14: removed method", { ...HEADERS, "Mcp-Method": "ping" }, modern({ method: "ping" }), 404, -32601],
  ["14: legacy", {}, { ...LEGACY, method: "x" }, 200, -32601],
  ["14: a notification with an id", {}, { ...LEGACY, method: "notifications/initialized" }, 200, -32601],
  [
    "16: tasks undeclared",
    { ...HEADERS, "Mcp-Method": "tasks/get", "Mcp-Name": "t" },
    modern({ method: "tasks/get", params: { _meta: MODERN_META, taskId: "t" } }),
    400,
    -32021,
  ],
  ["17: unknown tool", { ...CALL, "Mcp-Name": "nope" }, call("nope"), 200, -32602],
  ["17: no name", { ...HEADERS, "Mcp-Method": "tools/call" }, call(undefined), 200, -32602],
  ["legacy: version header", { "MCP-Protocol-Version": "1999-01-01" }, LEGACY, 400, -32600],
  ["legacy: session", { "Mcp-Session-Id": "x" }, LEGACY, 404, 404],
];

test.each(ladder)("ladder %s", async (_, headers, body, status, code) => {
  await using mcp = await mcpServer({ settings: mcpSettings({ tasks: taskSettings }) });
  const response = await rawPost(mcp.url, headers, body);
  expect([response.status, response.text === "" ? undefined : JSON.parse(response.text).error?.code]).toEqual([
    status,
    code,
  ]);
  if (status === 202) expect(response.text).toBe("");
  expect(mcp.events).toEqual([]);
});

test("an unsupported version gets the supported ones, and a valid ID is echoed", async () => {
  await using mcp = await mcpServer();
  const params = { _meta: { ...MODERN_META, [VERSION]: "2099-01-01" } };
  const response = await mcp.modern("tools/list", params, { "MCP-Protocol-Version": "2099-01-01" });
  expect(await response.json()).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: {
      code: -32022,
      message: "Unsupported protocol version",
      data: { supported: ["2026-07-28"], requested: "2099-01-01" },
    },
  });
});

test.each([
  ["GET", "/mcp", 405],
  ["DELETE", "/mcp", 405],
  ["PUT", "/mcp", 405],
  ["GET", "/other", 404],
  ["POST", "/mcp/other", 404],
  ["GET", "/mcp/health", 200],
  ["HEAD", "/mcp/health", 200],
  ["POST", "/mcp/health", 405],
  ["GET", "/.well-known/oauth-protected-resource", 404],
  ["OPTIONS", "/mcp", 204],
])("%s %s gives %i", async (method, path, status) => {
  await using mcp = await mcpServer();
  const response = await fetch(new URL(path, mcp.url), { method });
  expect(response.status).toBe(status);
  if (status === 405) expect(response.headers.get("allow")).not.toBeNull();
});

test.each(["/mcp", "/mcp/", "/mcp/jsonrpc", "/", "/mcp?x=1"])("a plain script gets a response at %s", async (path) => {
  await using mcp = await mcpServer();
  const response = await fetch(new URL(path, mcp.url), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"jsonrpc":"2.0","id":12345678901234567,"method":"ping"}',
  });
  expect(await response.text()).toBe('{"jsonrpc":"2.0","id":12345678901234567,"result":{}}');
});

test("on a shared listener, MCP handles only its own paths", async () => {
  await using mcp = await mcpServer();
  const paths = [
    "/",
    "/mcp",
    "/mcp?a",
    "/mcp/jsonrpc",
    "/mcp/health",
    "/mcpx",
    "/.well-known/oauth-protected-resource/mcp",
  ];
  expect(paths.filter((path) => mcp.server.handles(path))).toEqual([
    "/mcp",
    "/mcp?a",
    "/mcp/jsonrpc",
    "/mcp/health",
    "/.well-known/oauth-protected-resource/mcp",
  ]);
});

test("an allowed page gets CORS headers", async () => {
  await using mcp = await mcpServer({ settings: mcpSettings({ allowedOrigins: ["https://app.example"] }) });
  const headers = { Origin: "https://app.example", "Access-Control-Request-Method": "POST" };
  const preflight = await fetch(mcp.url, { method: "OPTIONS", headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect(preflight.headers.get("access-control-allow-headers")).toContain("Mcp-Session-Id");
  const response = await mcp.post(LEGACY, { Origin: "https://app.example" });
  expect(response.headers.get("access-control-expose-headers")).toBe("Mcp-Session-Id, WWW-Authenticate");
  expect(response.headers.get("vary")).toBe("Origin");
});

test("metadata of the protected resource, if there is an issuer", async () => {
  const protectedResource = {
    issuer: "https://login.example",
    scopes: ["openid", "offline_access"],
    resourceName: "shop",
  };
  await using mcp = await mcpServer({ protectedResource: () => protectedResource });
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
    const response = await fetch(new URL(path, mcp.url), { headers: { Origin: "https://anywhere.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.json()).toEqual({
      resource: mcp.url,
      authorization_servers: ["https://login.example"],
      scopes_supported: ["openid"],
      bearer_methods_supported: ["header"],
      resource_name: "shop",
    });
  }
});

test("during shutdown, calls are rejected with their ID, and health reports it", async () => {
  await using mcp = await mcpServer();
  mcp.server.drain();
  const response = await mcp.post(LEGACY);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await response.json()).toMatchObject({ id: 1, error: { code: 503 } });
  expect((await fetch(`${mcp.url}/health`)).status).toBe(503);
});

/** Unlike `fetch`, sends the given host. */
async function rawPost(url: string, headers: Record<string, string>, body: unknown) {
  const { request } = await import("node:http");
  const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
    const sent = request(
      url,
      { method: "POST", headers: { "Content-Type": "application/json", ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode, text }));
      },
    );
    sent.on("error", reject);
    sent.end(bytes);
  });
}
