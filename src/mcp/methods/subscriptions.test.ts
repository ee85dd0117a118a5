import { expect, test } from "vitest";
import { accessByName, asUser } from "../../../test/mcp-access.ts";
import { readEvents } from "../../../test/mcp-events.ts";
import { testRegistry } from "../../../test/mcp-registry.ts";
import { mcpServer, mcpSettings, openGate, TASKS_META, type TestMcp, taskSettings } from "../../../test/mcp-server.ts";
import { openStreams } from "../streams.ts";

const ID = { "io.modelcontextprotocol/subscriptionId": 1 };
const listen = (mcp: TestMcp, notifications: object, params: object = {}): Promise<Response> =>
  mcp.modern("subscriptions/listen", { notifications, ...params });

test("sends only requested notifications, with the subscription ID, and ends with a result", async () => {
  await using mcp = await mcpServer();
  const wanted = { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ["test://a"] };
  const response = await listen(mcp, wanted);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  const events = readEvents(response);
  expect(await events.next()).toEqual({
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta: ID, notifications: { toolsListChanged: true, resourceSubscriptions: ["test://a"] } },
  });
  mcp.server.replace(testRegistry({ prompts: ["p"] }), openGate, mcpSettings());
  mcp.server.replace(testRegistry({ prompts: ["p"], tools: ["t"] }), openGate, mcpSettings());
  mcp.server.resourceUpdated("test://b");
  mcp.server.resourceUpdated("test://a");
  mcp.server.drain();
  expect(await events.rest()).toEqual([
    { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta: ID } },
    { jsonrpc: "2.0", method: "notifications/resources/updated", params: { _meta: ID, uri: "test://a" } },
    { jsonrpc: "2.0", id: 1, result: { resultType: "complete", _meta: expect.objectContaining(ID) } },
  ]);
});

test("a subscription is removed when its client disconnects", async () => {
  await using mcp = await mcpServer();
  const events = readEvents(await listen(mcp, { toolsListChanged: true }));
  await events.next();
  await events.disconnect();
  await mcp.untilStreams(0);
  mcp.server.replace(testRegistry({ tools: ["t"] }), openGate, mcpSettings());
  expect(mcp.events).toEqual([]);
});

test.each([
  [{}, undefined, undefined],
  [{ resourceSubscriptions: "x" }, undefined, -32602],
  [{ resourceSubscriptions: [7] }, undefined, -32602],
  [{ resourceSubscriptions: Array(101).fill("x") }, undefined, -32602],
  [{ taskIds: ["x"] }, undefined, -32021],
  [{ taskIds: ["x"] }, TASKS_META, undefined],
])("listening to %j", async (notifications, meta, code) => {
  await using mcp = await mcpServer({ settings: mcpSettings({ tasks: taskSettings }) });
  const response = await listen(mcp, notifications, meta === undefined ? {} : { _meta: meta });
  if (code !== undefined) {
    expect(await response.json()).toMatchObject({ error: { code } });
    return;
  }
  expect(await readEvents(response).next()).toMatchObject({ params: { notifications: {} } });
});

test("the number of streams is limited", () => {
  const streams = openStreams({ total: 3, perClient: 2 });
  const open = (client: string, bytes = 0) => streams.open({ onEvent: () => {}, end: () => {} }, { client, bytes });
  const leave = open("ann");
  expect([open("ann"), open("ann"), open("bob"), open("eve")].map((each) => each !== undefined)).toEqual([
    true,
    false,
    true,
    false,
  ]);
  leave?.();
  leave?.();
  expect([open("bob"), open("bob")].map((each) => each !== undefined)).toEqual([true, false]);
  // Streams that were ended make room, too.
  streams.endAll();
  expect([open("bob"), open("bob"), open("bob")].map((each) => each !== undefined)).toEqual([true, true, false]);
});

test("the requests of open streams can take 4 MiB per client", () => {
  const streams = openStreams();
  const open = (client: string) =>
    streams.open({ onEvent: () => {}, end: () => {} }, { client, bytes: 3 * 1024 * 1024 }) !== undefined;
  expect([open("ann"), open("ann"), open("bob")]).toEqual([true, false, true]);
  expect(streams.count()).toBe(2);
});

test("one client cannot take all streams, and is rejected as if there were none left", async () => {
  await using mcp = await mcpServer({ access: accessByName() });
  const params = { notifications: { toolsListChanged: true } };
  const streams = await Promise.all(
    Array.from({ length: 130 }, async () => await mcp.modern("subscriptions/listen", params, asUser("ann"))),
  );
  const isStream = ({ headers }: Response): boolean => headers.get("content-type") === "text/event-stream";
  expect(streams.filter(isStream)).toHaveLength(128);
  expect(await streams.find((response) => !isStream(response))?.json()).toMatchObject({
    error: { message: "Too many streams are open; try again later" },
  });
  const others = await mcp.modern("subscriptions/listen", params, asUser("bob"));
  expect(isStream(others)).toBe(true);
  await mcp.untilStreams(129);
  mcp.server.drain();
});

test("long requests get few streams, because they stay in memory as long as these", async () => {
  await using mcp = await mcpServer();
  const listen = (length: number): Promise<Response> =>
    mcp.modern("subscriptions/listen", { notifications: {}, padding: "x".repeat(length) });
  const message = "Invalid Request: a message has at most 64 KiB besides its arguments";
  expect(await (await listen(1_000_000)).json()).toMatchObject({ error: { message } });
  await mcp.untilStreams(0);
  const open = [await listen(60_000), await listen(60_000), await listen(60_000)];
  expect(open.map(({ headers }) => headers.get("content-type"))).toEqual(Array(3).fill("text/event-stream"));
  const refused = "Too many streams are open; try again later";
  expect(await (await listen(60_000)).json()).toMatchObject({ error: { message: refused } });
});
