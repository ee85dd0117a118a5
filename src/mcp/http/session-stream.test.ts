import { request } from "node:http";
import { expect, test } from "vitest";
import { accessByName, asUser } from "../../../test/mcp-access.ts";
import { readEvents } from "../../../test/mcp-events.ts";
import { testRegistry } from "../../../test/mcp-registry.ts";
import { mcpServer, mcpSettings, openGate, type TestMcp } from "../../../test/mcp-server.ts";
import { anonymous } from "../../auth/identity.ts";
import type { McpAccess } from "../mcp-service.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

async function begin(mcp: TestMcp, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const response = await mcp.post(INITIALIZE, headers);
  expect(await response.json()).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  return { "Mcp-Session-Id": response.headers.get("mcp-session-id") ?? "", ...headers };
}

const listenOn = (mcp: TestMcp, session: Record<string, string>): Promise<Response> =>
  fetch(mcp.url, { headers: { Accept: "text/event-stream", ...session } });
const ask = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 2, method, params });

test("a stream sends changes of lists and of subscribed resources, and nothing else", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const events = readEvents(await listenOn(mcp, session));
  expect((await mcp.post(ask("resources/subscribe", { uri: "test://template/1/data?x=2" }), session)).status).toBe(200);
  mcp.server.replace(testRegistry(), openGate, mcpSettings());
  mcp.server.replace(testRegistry({ prompts: ["later"] }), openGate, mcpSettings());
  mcp.server.resourceUpdated("test://other");
  mcp.server.resourceUpdated("test://template/{id}/data");
  mcp.server.drain();
  expect(await events.rest()).toEqual([
    { jsonrpc: "2.0", method: "notifications/prompts/list_changed" },
    { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "test://template/1/data?x=2" } },
  ]);
});

test("after an unsubscribe, no notification is sent", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const events = readEvents(await listenOn(mcp, session));
  await mcp.post(ask("resources/subscribe", { uri: "test://static-text" }), session);
  await mcp.post(ask("resources/unsubscribe", { uri: "test://static-text" }), session);
  mcp.server.resourceUpdated("test://static-text");
  mcp.server.drain();
  expect(await events.rest()).toEqual([]);
});

test("the newest stream of a session gets each message; when it closes, the older one does", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const older = readEvents(await listenOn(mcp, session));
  const newer = readEvents(await listenOn(mcp, session));
  const change = (name: string): void => mcp.server.replace(testRegistry({ tools: [name] }), openGate, mcpSettings());
  change("one");
  expect(await newer.next()).toMatchObject({ method: "notifications/tools/list_changed" });
  await newer.disconnect();
  await mcp.untilStreams(1);
  change("two");
  mcp.server.drain();
  expect(await older.rest()).toHaveLength(1);
});

test("DELETE ends the session and its stream", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const events = readEvents(await listenOn(mcp, session));
  expect((await fetch(mcp.url, { method: "DELETE", headers: session })).status).toBe(204);
  expect(await events.rest()).toEqual([]);
  expect((await mcp.post(ask("ping"), session)).status).toBe(404);
  expect((await fetch(mcp.url, { method: "DELETE", headers: session })).status).toBe(404);
});

test("streams and subscriptions require a session", async () => {
  await using mcp = await mcpServer();
  expect((await listenOn(mcp, {})).status).toBe(405);
  expect((await listenOn(mcp, { "Mcp-Session-Id": "x" })).status).toBe(404);
  expect((await fetch(mcp.url, { headers: await begin(mcp) })).status).toBe(405);
  const response = await mcp.post(ask("resources/subscribe", { uri: "test://static-text" }));
  expect(await response.json()).toMatchObject({ error: { code: -32600 } });
});

test("a session of another identity counts as not found, for every method", async () => {
  await using mcp = await mcpServer({ access: accessByName() });
  const session = await begin(mcp, asUser("ann"));
  expect((await mcp.post(ask("ping"), session)).status).toBe(200);
  const stolen = { ...session, ...asUser("bob") };
  expect((await mcp.post(ask("ping"), stolen)).status).toBe(404);
  expect((await listenOn(mcp, stolen)).status).toBe(404);
  expect((await fetch(mcp.url, { method: "DELETE", headers: stolen })).status).toBe(404);
  const { Authorization: _, ...withoutCredentials } = session;
  expect((await mcp.post(ask("ping"), withoutCredentials)).status).toBe(401);
  expect((await listenOn(mcp, withoutCredentials)).status).toBe(401);
});

test("a session gets log messages only after it has set a level, which stays until it is set again", async () => {
  await using mcp = await mcpServer();
  const session = { ...(await begin(mcp)), Accept: "application/json, text/event-stream" };
  const logs = async (): Promise<number> => {
    const response = await mcp.post(ask("tools/call", { name: "test_tool_with_logging" }), session);
    const isStream = response.headers.get("content-type") === "text/event-stream";
    return isStream ? (await readEvents(response).rest()).length - 1 : 0;
  };
  expect(await logs()).toBe(0);
  await mcp.post(ask("logging/setLevel", { level: "info" }), session);
  expect(await logs()).toBe(3);
  await mcp.post(ask("logging/setLevel", { level: "error" }), session);
  expect(await logs()).toBe(0);
  await mcp.post(ask("logging/setLevel", { level: "debug" }), session);
  expect(await logs()).toBe(3);
  expect(await (await mcp.post(ask("logging/setLevel", { level: "loud" }), session)).json()).toMatchObject({
    error: { code: -32602 },
  });
});

test("a stream is removed when its client disconnects", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const stop = new AbortController();
  await fetch(mcp.url, { headers: { Accept: "text/event-stream", ...session }, signal: stop.signal });
  stop.abort();
  await mcp.untilStreams(0);
});

test("a disconnect is detected even if the GET had a body", async () => {
  await using mcp = await mcpServer();
  const headers = { Accept: "text/event-stream", "Content-Length": 1 << 20, ...(await begin(mcp)) };
  const sent = request(mcp.url, { headers });
  sent.on("error", () => {});
  sent.end(Buffer.alloc(1 << 20));
  await new Promise((resolve) => sent.once("response", resolve));
  sent.destroy();
  await mcp.untilStreams(0);
});

test("a client that disconnects during authentication gets no stream", async () => {
  let decide = (): void => {};
  let onRequested = (): void => {};
  const isRequested = new Promise<void>((resolve) => {
    onRequested = resolve;
  });
  const access: McpAccess = {
    async admit({ method }) {
      if (method === "GET") {
        onRequested();
        await new Promise<void>((resolve) => {
          decide = resolve;
        });
      }
      return { kind: "identity", identity: anonymous };
    },
  };
  await using mcp = await mcpServer({ access });
  const sent = request(mcp.url, { headers: { Accept: "text/event-stream", ...(await begin(mcp)) } });
  sent.on("error", () => {});
  sent.end();
  await isRequested;
  sent.destroy();
  // After this, the server has seen the disconnect.
  await mcp.post(ask("ping"));
  decide();
  await mcp.post(ask("ping"));
  await mcp.untilStreams(0);
});

test("ending a stream keeps the session; the next stream gets notifications again", async () => {
  await using mcp = await mcpServer();
  const session = await begin(mcp);
  const first = readEvents(await listenOn(mcp, session));
  mcp.server.endStreams();
  expect(await first.rest()).toEqual([]);
  await mcp.untilStreams(0);
  expect((await mcp.post(ask("ping"), session)).status).toBe(200);
  const second = readEvents(await listenOn(mcp, session));
  mcp.server.replace(testRegistry({ tools: ["later"] }), openGate, mcpSettings());
  expect(await second.next()).toMatchObject({ method: "notifications/tools/list_changed" });
  await second.disconnect();
});
