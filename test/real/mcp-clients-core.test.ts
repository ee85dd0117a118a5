import { expect } from "vitest";
import type { McpAccess } from "../../src/mcp/mcp-service.ts";
import { testRegistry } from "../mcp-registry.ts";
import { mcpServer, mcpSettings, openGate, taskSettings } from "../mcp-server.ts";
import { inspector, sdkV1, sdkV2Client, testWithMcpTools, withMcpdo } from "../mcp-tools.ts";
import { until } from "../until.ts";

/** Clients of others against the protocol core, each as it comes. */

const settings = mcpSettings({ tasks: taskSettings });
const INFO = { name: "test", version: "1" };

testWithMcpTools("the first SDK: a session, progress, a list that changes, the end of the session", async () => {
  await using mcp = await mcpServer({ settings });
  const { Client } = await import(sdkV1("client/index.js"));
  const { StreamableHTTPClientTransport } = await import(sdkV1("client/streamableHttp.js"));
  const { ToolListChangedNotificationSchema } = await import(sdkV1("types.js"));
  const client = new Client(INFO);
  const transport = new StreamableHTTPClientTransport(new URL(mcp.url));
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes++;
  });
  await client.connect(transport);
  expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
  await mcp.untilStreams(1);
  const values: number[] = [];
  const onprogress = ({ progress }: { readonly progress: number }): number => values.push(progress);
  await client.callTool({ name: "test_tool_with_progress" }, undefined, { onprogress });
  expect(values).toEqual([0, 50, 100]);
  mcp.server.replace(testRegistry({ tools: ["later"] }), openGate, settings);
  await until("the notification", () => changes === 1);
  expect((await client.listTools()).tools.map(({ name }: { readonly name: string }) => name)).toContain("later");
  await transport.terminateSession();
  await client.close();
  await mcp.untilStreams(0);
});

testWithMcpTools("the second SDK in the new era: it listens, and hears of what it asked for", async () => {
  await using mcp = await mcpServer({ settings });
  const { Client, StreamableHTTPClientTransport } = await import(sdkV2Client());
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const heard: string[] = [];
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    heard.push("tools");
  });
  client.setNotificationHandler("notifications/prompts/list_changed", () => {
    heard.push("prompts");
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcp.url)));
  const listening = await client.listen({ toolsListChanged: true });
  mcp.server.replace(testRegistry({ tools: ["later"], prompts: ["later"] }), openGate, settings);
  await until("the notification", () => heard.length > 0);
  expect((await client.callTool({ name: "greet", arguments: { name: "Ä" } })).content).toEqual([
    { type: "text", text: "Hello, Ä!" },
  ]);
  expect(heard).toEqual(["tools"]);
  await listening.close();
  await client.close();
  await mcp.untilStreams(0);
});

for (const era of ["legacy", "auto", "modern"]) {
  testWithMcpTools(`the Inspector, ${era}`, async () => {
    await using mcp = await mcpServer({ settings });
    const asked = [mcp.url, "--transport", "http", "--protocol-era", era, "--format", "json"];
    // Lists in every era: see mcp-inspector.test.ts.
    if (era === "auto") {
      const listed = await inspector([...asked, "--method", "tools/list"]);
      expect([listed.code, listed.stderr]).toEqual([0, ""]);
      expect(listed.stdout).toContain('"greet"');
    }
    const called = await inspector([
      ...asked,
      "--method",
      "tools/call",
      "--tool-name",
      "greet",
      "--tool-arg",
      "name=Ann",
    ]);
    expect([called.code, called.stdout.includes("Hello, Ann!")]).toEqual([0, true]);
  });
}

testWithMcpTools("mcpdo: a call that takes long comes back by way of a task", async () => {
  const methods: string[] = [];
  const gate: McpAccess = {
    admit(asked) {
      methods.push(asked.method);
      return openGate.admit(asked);
    },
  };
  await using mcp = await mcpServer({ settings, access: gate });
  await withMcpdo(async (mcpdo) => {
    const connected = await mcpdo(["connect", mcp.url, "--transport", "http", "--era", "modern", "--connection", "c"]);
    expect(connected.code).toBe(0);
    const called = await mcpdo(["--connection", "c", "tools/call", "slow_compute", "seconds:=1"]);
    expect([called.code, called.stdout.includes("computed")]).toEqual([0, true]);
    expect(methods).toEqual(expect.arrayContaining(["server/discover", "tools/call", "tasks/get"]));
  });
});
