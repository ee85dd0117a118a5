import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { accessByName } from "../../test/mcp-access.ts";
import { testRegistry } from "../../test/mcp-registry.ts";
import { MODERN_META, mcpServer, mcpSettings, openGate } from "../../test/mcp-server.ts";
import { until } from "../../test/until.ts";
import { anonymous, type Identity, identityOf } from "../auth/identity.ts";
import type { McpServer } from "./open-mcp-server.ts";

const identity = identityOf({ type: "basic", username: "ann" });

/** A client over two pipes. */
function pipe(server: McpServer, who: Identity = identity) {
  const input = new PassThrough();
  const lines: string[] = [];
  const ended = server.serveStdio({ input, write: (line) => lines.push(line), identity: who });
  const messages = (): readonly unknown[] => lines.map((line) => JSON.parse(line));
  return {
    send: (message: unknown) => input.write(typeof message === "string" ? message : `${JSON.stringify(message)}\n`),
    messages,
    lines,
    until: (count: number) => until(`${count} lines`, () => lines.length >= count),
    async end() {
      input.end();
      await ended;
      return messages();
    },
  };
}

const call = (id: unknown, name: string, args: object = {}, meta: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: meta },
});

test("each message has its own protocol, the output is lines of JSON, and the end waits for responses", async () => {
  await using mcp = await mcpServer({ access: accessByName() });
  const client = pipe(mcp.server);
  client.send({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: MODERN_META } });
  client.send({ jsonrpc: "2.0", id: 2, method: "initialize", params: { protocolVersion: "2025-11-25" } });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  client.send("\n");
  client.send("nonsense\n");
  client.send([{ jsonrpc: "2.0", id: 3, method: "ping" }]);
  client.send(call(4, "test_tool_with_progress", {}, { progressToken: "p" }));
  await client.until(4);
  const messages = await client.end();
  expect(client.lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1)).toBe(true);
  const withId = (id: unknown): unknown => messages.find((message) => (message as { id?: unknown }).id === id);
  expect(messages).toHaveLength(8);
  expect(withId(1)).toMatchObject({ result: { resultType: "complete", supportedVersions: ["2026-07-28"] } });
  expect(withId(2)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  expect(messages).toContainEqual({ jsonrpc: "2.0", error: { code: -32700, message: "Parse error" } });
  expect(messages).toContainEqual([{ jsonrpc: "2.0", id: 3, result: {} }]);
  const progress = messages.filter((message) => (message as { method?: string }).method === "notifications/progress");
  expect(progress).toMatchObject([0, 50, 100].map((value) => ({ params: { progressToken: "p", progress: value } })));
  expect(withId(4)).toEqual({
    jsonrpc: "2.0",
    id: 4,
    result: { content: [{ type: "text", text: "done" }], isError: false },
  });
});

test("a given identity skips the access check", async () => {
  const access = accessByName();
  const service = testRegistry();
  const seen: unknown[] = [];
  await using mcp = await mcpServer({
    access,
    service: {
      ...service,
      callTool(name, args, given) {
        seen.push(given.identity);
        return service.callTool(name, args, given);
      },
    },
  });
  const client = pipe(mcp.server);
  client.send(call(1, "greet", { name: "Ö" }));
  expect(await client.end()).toMatchObject([{ id: 1, result: { content: [{ text: "Hello, Ö!" }] } }]);
  expect([seen, access.asked]).toEqual([[identity], []]);
});

test.each([
  ["legacy", {}],
  ["modern", MODERN_META],
])("a cancelled request gets no response (%s)", async (_, meta) => {
  await using mcp = await mcpServer();
  const client = pipe(mcp.server);
  client.send(call(12, "slow_compute", { seconds: 600 }, meta));
  client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 12, _meta: meta } });
  expect(await client.end()).toEqual([]);
});

test("subscriptions work in both protocols, until they are cancelled or the input ends", async () => {
  await using mcp = await mcpServer();
  const client = pipe(mcp.server);
  const listen = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "subscriptions/listen",
    params: { _meta: MODERN_META, notifications: { toolsListChanged: true } },
  });
  client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
  client.send(listen(7));
  client.send(listen(8));
  await client.until(3);
  client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 8, _meta: MODERN_META } });
  client.send({ jsonrpc: "2.0", id: 2, method: "ping" });
  await client.until(4);
  mcp.server.replace(testRegistry({ tools: ["t"] }), openGate, mcpSettings());
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  const meta = { "io.modelcontextprotocol/subscriptionId": 7 };
  expect((await client.end()).slice(4)).toEqual([
    changed,
    { ...changed, params: { _meta: meta } },
    { jsonrpc: "2.0", id: 7, result: { resultType: "complete", _meta: expect.objectContaining(meta) } },
  ]);
});

test("a line may arrive in pieces, and one that is too long is rejected without buffering it", async () => {
  await using mcp = await mcpServer();
  const client = pipe(mcp.server);
  client.send('{"jsonrpc":"2.0",');
  client.send('"id":1,"method":"ping"}\n{"jsonrpc"');
  client.send(`:"2.0","id":2,"method":"${"x".repeat(5 << 20)}`);
  client.send('"}\n');
  client.send('{"jsonrpc":"2.0","id":3,"method":"ping"}');
  expect(new Set((await client.end()).map((message) => JSON.stringify(message)))).toEqual(
    new Set([
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request: the line is too long"}}',
      '{"jsonrpc":"2.0","id":3,"result":{}}',
    ]),
  );
});

test("without an identity, the client has anonymous access", async () => {
  const access = accessByName(["tools/list"]);
  await using mcp = await mcpServer({ access });
  const client = pipe(mcp.server, anonymous);
  client.send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  client.send(call(2, "greet", { name: "Ann" }));
  client.send([call(3, "greet", { name: "Ann" })]);
  const messages = await client.end();
  expect(messages).toContainEqual(expect.objectContaining({ id: 1, result: expect.anything() }));
  const error = { code: 401, message: "Unauthorized" };
  expect(messages).toContainEqual({ jsonrpc: "2.0", id: 2, error });
  expect(JSON.stringify(messages)).not.toContain("Hello");
  expect(access.asked.map(({ authorization }) => authorization)).toEqual([undefined, undefined, undefined]);
});

test("log messages are sent only after the client has set a level", async () => {
  await using mcp = await mcpServer();
  const script = pipe(mcp.server);
  script.send(call(1, "test_tool_with_logging"));
  expect(await script.end()).toMatchObject([{ id: 1 }]);
  const client = pipe(mcp.server);
  client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
  client.send({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "info" } });
  client.send(call(3, "test_tool_with_logging"));
  expect(await client.end()).toContainEqual(expect.objectContaining({ method: "notifications/message" }));
});
