import { expect, test } from "vitest";
import { accessByName, asUser } from "../../test/mcp-access.ts";
import { MODERN_META, mcpServer } from "../../test/mcp-server.ts";

const ping = (id: unknown) => ({ jsonrpc: "2.0", id, method: "ping" });
const NOTE = { jsonrpc: "2.0", method: "notifications/initialized" };
const echo = (id: number | string, text: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"n":${text}}}}`;

test("array in, array out, in order; notifications get no response", async () => {
  await using mcp = await mcpServer();
  const response = await mcp.post([ping(1), NOTE, ping("b"), { jsonrpc: "2.0", id: 3, method: "nope" }, 7]);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual([
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: "b", result: {} },
    { jsonrpc: "2.0", id: 3, error: { code: -32601, message: "Method not found: nope" } },
    { jsonrpc: "2.0", error: { code: -32600, message: "Invalid Request: a message is a JSON object" } },
  ]);
});

test("a batch of notifications gets no body", async () => {
  await using mcp = await mcpServer();
  const response = await mcp.post([NOTE, NOTE]);
  expect([response.status, await response.text()]).toEqual([202, ""]);
});

test("arguments and IDs in a batch keep their digits", async () => {
  await using mcp = await mcpServer();
  const response = await mcp.post(`[ ${echo("12345678901234567", "12345678901234567890")}, ${echo(2, "1.50")} ]`);
  const text = await response.text();
  expect(text).toContain('"id":12345678901234567,');
  expect(text).toContain('"structuredContent":{"n":"12345678901234567890"}');
  expect(text).toContain('"structuredContent":{"n":"1.50"}');
});

test("messages that must not be in a batch are rejected, the others run", async () => {
  await using mcp = await mcpServer();
  const modern = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: MODERN_META } };
  const response = await mcp.post([modern, { ...ping(2), method: "initialize" }, ping(3)]);
  expect(await response.json()).toMatchObject([
    { error: { code: -32600 } },
    { error: { code: -32600 } },
    { result: {} },
  ]);
});

test("if one method is not allowed, none runs, and the HTTP status says so", async () => {
  const access = accessByName(["ping"]);
  await using mcp = await mcpServer({ access });
  const response = await mcp.post(`[${JSON.stringify(ping(1))},${echo(2, "1")},${JSON.stringify(NOTE)}]`);
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([
    401,
    'Bearer realm="eider", Basic realm="eider"',
  ]);
  expect(await response.json()).toMatchObject([
    { id: 1, error: { code: 401 } },
    { id: 2, error: { code: 401, message: "Unauthorized" } },
  ]);
  expect(access.asked.map(({ method, target }) => [method, target])).toEqual([
    ["ping", undefined],
    ["tools/call", "echo"],
    ["notifications/initialized", undefined],
  ]);
  expect((await mcp.post([ping(1)], asUser("ann"))).status).toBe(200);
});

test("an unknown session rejects the whole batch", async () => {
  await using mcp = await mcpServer();
  expect((await mcp.post([ping(1)], { "Mcp-Session-Id": "x" })).status).toBe(404);
});
