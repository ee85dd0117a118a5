import { expect, test } from "vitest";
import { accessByName, asUser } from "../../test/mcp-access.ts";
import { readEvents } from "../../test/mcp-events.ts";
import { testRegistry } from "../../test/mcp-registry.ts";
import { MODERN_META, mcpServer } from "../../test/mcp-server.ts";
import { fakeClock } from "../../test/turned-clock.ts";
import { until } from "../../test/until.ts";
import { RequestFailure } from "../failure.ts";
import type { McpCall, McpService, ToolResult } from "./mcp-service.ts";

const DONE: ToolResult = { content: '[{"type":"text",\n"text":"done"}]', structuredContent: undefined, isError: false };

/** A service with one tool that the test controls. */
function held() {
  const calls: McpCall[] = [];
  const finish: ((result: ToolResult) => void)[] = [];
  const service: McpService = {
    ...testRegistry(),
    callTool: (_name, _args, call) =>
      new Promise((resolve, reject) => {
        calls.push(call);
        finish.push(resolve);
        call.signal.addEventListener("abort", () => reject(call.signal.reason));
      }),
  };
  return { service, calls, finish };
}

const call = (id: unknown, meta: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "greet", arguments: { name: "A" }, _meta: meta },
});
const STREAM = { Accept: "application/json, text/event-stream" };
const cancelled = (requestId: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

test("progress always grows, even without news, and precedes the response", async () => {
  const clock = fakeClock();
  const { service, calls, finish } = held();
  await using mcp = await mcpServer({ service, after: clock.after, now: clock.now });
  const pending = mcp.post(call(1, { progressToken: 12345 }), STREAM);
  const [given] = await until("the call", () => calls.length > 0 && calls);
  given?.progress(10, 100, "begun");
  given?.progress(10, 100, "again");
  given?.progress(5, 100, "back");
  await clock.advance(10_000);
  given?.progress(50, 100, "half");
  finish[0]?.(DONE);
  const messages = (await readEvents(await pending).rest()) as readonly {
    params?: { progress: number; total: number };
  }[];
  expect(messages.map(({ params }) => params?.progress)).toEqual([10, 10.01, 10.02, 50, undefined]);
  expect(messages.at(-1)).toEqual({
    jsonrpc: "2.0",
    id: 1,
    result: { content: [{ type: "text", text: "done" }], isError: false },
  });
  await clock.advance(10_000);
  expect(mcp.events).toEqual([]);
});

test.each([
  ["legacy, JSON only", { progressToken: 1 }, { Accept: "application/json" }, false],
  ["legacy, anything", { progressToken: 1 }, { Accept: "*/*" }, false],
  ["legacy, no token", {}, STREAM, false],
  ["legacy, both", { progressToken: 1 }, STREAM, true],
  ["legacy, a token that is none", { progressToken: [] }, STREAM, false],
])("a stream is sent only to who asks for one and takes it: %s", async (_, meta, headers, isStream) => {
  const { service, calls, finish } = held();
  await using mcp = await mcpServer({ service });
  const pending = mcp.post(call(1, meta), headers);
  const [given] = await until("the call", () => calls.length > 0 && calls);
  given?.progress(1, 2, "x");
  finish[0]?.(DONE);
  expect((await pending).headers.get("content-type")).toBe(isStream ? "text/event-stream" : "application/json");
});

test("log messages are sent only on request, from the requested level on", async () => {
  await using mcp = await mcpServer();
  const run = async (meta: object): Promise<number> => {
    const params = { name: "test_tool_with_logging", _meta: { ...MODERN_META, ...meta } };
    const response = await mcp.modern("tools/call", params, STREAM);
    if (response.headers.get("content-type") === "application/json") return 0;
    return (await readEvents(response).rest()).length - 1;
  };
  expect(await run({})).toBe(0);
  expect(await run({ "io.modelcontextprotocol/logLevel": "info" })).toBe(3);
  expect(await run({ "io.modelcontextprotocol/logLevel": "warning" })).toBe(0);
});

test("a modern client cancels its call by disconnecting", async () => {
  const { service, calls } = held();
  await using mcp = await mcpServer({ service });
  const stop = new AbortController();
  const headers = {
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "greet",
  };
  const body = JSON.stringify(call(1, MODERN_META));
  const pending = fetch(mcp.url, { method: "POST", headers, body, signal: stop.signal });
  const [given] = await until("the call", () => calls.length > 0 && calls);
  stop.abort();
  await expect(pending).rejects.toThrow();
  await until("the end", () => given?.signal.aborted);
  expect(given?.signal.reason).toEqual(new RequestFailure({ kind: "cancelled" }));
  expect(mcp.events).toEqual([]);
});

test("a legacy client cancels its own calls by notification, not by disconnecting", async () => {
  const { service, calls } = held();
  await using mcp = await mcpServer({ service, access: accessByName() });
  const stop = new AbortController();
  const headers = { "Content-Type": "application/json", ...asUser("ann") };
  const disconnected = fetch(mcp.url, {
    method: "POST",
    headers,
    body: JSON.stringify(call("1")),
    signal: stop.signal,
  });
  await until("the call", () => calls.length === 1);
  stop.abort();
  await expect(disconnected).rejects.toThrow();
  await mcp.post(cancelled(1), asUser("ann"));
  await mcp.post(cancelled("1"), asUser("bob"));
  expect(calls[0]?.signal.aborted).toBe(false);
  await mcp.post(cancelled("1"), asUser("ann"));
  expect(calls[0]?.signal.aborted).toBe(true);
});

test("a cancelled call returns an error, with an ID of any size", async () => {
  const { service, calls } = held();
  await using mcp = await mcpServer({ service });
  const big = "12345678901234567";
  const pending = mcp.post(JSON.stringify(call("ID")).replace('"ID"', big));
  await until("the call", () => calls.length === 1);
  await mcp.post(JSON.stringify(cancelled("ID")).replace('"ID"', big));
  const response = await pending;
  expect([response.status, await response.text()]).toEqual([
    200,
    `{"jsonrpc":"2.0","id":${big},"error":{"code":499,"message":"Request cancelled"}}`,
  ]);
});

test("of two calls with the same ID, neither is cancelled", async () => {
  const { service, calls, finish } = held();
  await using mcp = await mcpServer({ service });
  const pending = [mcp.post(call(1)), mcp.post(call(1))];
  await until("the calls", () => calls.length === 2);
  await mcp.post(cancelled(1));
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  for (const end of finish) end(DONE);
  expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([200, 200]);
});

test("at shutdown, calls end with status 503", async () => {
  const { service, calls } = held();
  await using mcp = await mcpServer({ service });
  const pending = mcp.post(call(1));
  await until("the call", () => calls.length === 1);
  mcp.server.drain();
  expect(calls[0]?.signal.aborted).toBe(false);
  mcp.server.cancelAll();
  const response = await pending;
  expect([response.status, await response.json()]).toMatchObject([503, { id: 1, error: { code: 503 } }]);
  expect(calls[0]?.signal.reason).toEqual(new RequestFailure({ kind: "draining" }));
});

test("a call has its identity and its trace context", async () => {
  const { service, calls, finish } = held();
  await using mcp = await mcpServer({ service });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const pending = [
    mcp.post(call(1, { traceparent }), { "X-Request-Id": "mine" }),
    mcp.post(call(2, { traceparent: "x\n" })),
  ];
  await until("the calls", () => calls.length === 2);
  const mine = calls.find(({ requestId }) => requestId === "mine");
  expect(mine).toMatchObject({ address: "127.0.0.1", traceparent });
  expect(calls.find((other) => other !== mine)?.traceparent).toBeUndefined();
  for (const end of finish) end(DONE);
  expect((await Promise.all(pending))[0]?.headers.get("x-request-id")).toBe("mine");
});

test("unexpected errors are reported, and not shown to clients", async () => {
  const service: McpService = { ...testRegistry(), callTool: () => Promise.reject(new Error("secret")) };
  await using mcp = await mcpServer({ service });
  const response = await mcp.post(call(1));
  expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } });
  expect(mcp.events).toMatchObject([{ kind: "unexpected", error: new Error("secret") }]);
});

test("a missing resource has the error code of each protocol", async () => {
  await using mcp = await mcpServer();
  const data = { uri: "test://none" };
  const legacy = await mcp.post({ jsonrpc: "2.0", id: 1, method: "resources/read", params: data });
  expect(await legacy.json()).toMatchObject({ error: { code: -32002, data } });
  const modern = await mcp.modern("resources/read", data);
  expect([modern.status, await modern.json()]).toMatchObject([200, { error: { code: -32602, data } }]);
});
