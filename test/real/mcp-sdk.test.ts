import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type Json, type McpProgram, mcpFixture, sharedMcp, startMcp } from "../mcp-program.ts";
import { sdkV1, sdkV2Client, testWithMcpTools } from "../mcp-tools.ts";
import { until } from "../until.ts";

/** The clients of both SDKs against the real program. The numbers are those of the acceptance list. */

const INFO = { name: "test", version: "1" };

/** Another description: the list of tools is another one. */
async function changeTool(program: McpProgram): Promise<void> {
  const file = "conformance/greet.yaml";
  const text = mcpFixture[file]?.replace("Greets somebody", "Greets somebody kindly") ?? "";
  await writeFile(join(program.folder, file), text);
}

async function addPrompt(program: McpProgram, name: string): Promise<void> {
  const text = `mcp-prompt:\n  name: ${name}\n  description: New\n  template: New\n`;
  await writeFile(join(program.folder, `${name}.yaml`), text);
}

testWithMcpTools("A4 the first SDK: a session, a call, one notification after a reload, the end", async () => {
  await using program = await startMcp(mcpFixture, { args: ["serve", "--watch"] });
  const { Client } = await import(sdkV1("client/index.js"));
  const { StreamableHTTPClientTransport } = await import(sdkV1("client/streamableHttp.js"));
  const types = await import(sdkV1("types.js"));
  const client = new Client(INFO);
  const transport = new StreamableHTTPClientTransport(new URL(program.mcp));
  const heard: string[] = [];
  for (const [name, schema] of [
    ["tools", types.ToolListChangedNotificationSchema],
    ["prompts", types.PromptListChangedNotificationSchema],
    ["resources", types.ResourceListChangedNotificationSchema],
  ]) {
    client.setNotificationHandler(schema, () => {
      heard.push(name);
    });
  }
  await client.connect(transport);
  expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
  expect(client.getServerVersion()).toMatchObject({ name: "mcp-fixture" });
  await program.untilStreams(1);
  const { structuredContent } = await client.callTool({ name: "find_customer", arguments: { id: 2 } });
  expect(structuredContent.rows).toEqual([{ id: 2, name: "Ben", status: "blocked" }]);

  await changeTool(program);
  await until("the notification", () => heard.length > 0);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }: Json) => name === "greet").description).toBe("Greets somebody kindly");
  await addPrompt(program, "later");
  await until("the other", () => heard.length > 1);
  expect(heard).toEqual(["tools", "prompts"]);

  const { sessionId } = transport;
  await transport.terminateSession();
  await client.close();
  await program.untilStreams(0);
  const after = await program.legacy("ping", {}, { "Mcp-Session-Id": sessionId });
  expect(after.status).toBe(404);
});

testWithMcpTools("A5 the second SDK, pinned: it hears of the lists that it asked for, after a reload", async () => {
  await using program = await startMcp(mcpFixture, { args: ["serve", "--watch"] });
  const { Client, StreamableHTTPClientTransport } = await import(sdkV2Client());
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const heard: string[] = [];
  for (const list of ["tools", "prompts", "resources"]) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => {
      heard.push(list);
    });
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(program.mcp)));
  const listening = await client.listen({ toolsListChanged: true });
  await addPrompt(program, "later");
  await until("the prompt", async () => {
    // Not by the client: it keeps a list for as long as we say that it is good.
    const { message } = await program.modern("prompts/list");
    return message?.result?.["prompts"].some(({ name }: Json) => name === "later");
  });
  await changeTool(program);
  await until("the notification", () => heard.length > 0);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }: Json) => name === "greet").description).toBe("Greets somebody kindly");
  expect(heard).toEqual(["tools"]);
  await listening.close();
  await client.close();
  await program.untilStreams(0);
});

testWithMcpTools(
  "A5 a reload that reopens the database ends the stream, and the next one receives events again",
  async () => {
    await using program = await startMcp(mcpFixture);
    const listen = () => program.modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const first = listen();
    await program.untilStreams(1);
    const main = mcpFixture["eider.yaml"]?.replace("'Ada'", "'Alma'") ?? "";
    await writeFile(join(program.folder, "eider.yaml"), main);
    program.signal("SIGHUP");
    expect((await first).message?.result).toMatchObject({ resultType: "complete" });
    const second = listen();
    await program.untilStreams(1);
    expect((await program.call("find_customer", { id: 1 }))["structuredContent"].rows).toMatchObject([
      { name: "Alma" },
    ]);
    await changeTool(program);
    program.signal("SIGHUP");
    await until("the reload", () => program.stderr().split('"reloaded: ').length === 3);
    program.signal("SIGTERM");
    expect((await second).notices.map(({ method }) => method)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tools/list_changed",
    ]);
  },
);

const shared = sharedMcp();

for (const [index, mode] of (["legacy", { pin: "2026-07-28" }] as const).entries()) {
  testWithMcpTools(
    `A13 output schemas are there before any call, and every type fits them (${JSON.stringify(mode)})`,
    async () => {
      const program = await shared();
      const { Client, StreamableHTTPClientTransport } = await import(sdkV2Client());
      const client = new Client(INFO, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(program.mcp)));
      const { tools } = await client.listTools();
      const named = (name: string): Json => tools.find((tool: Json) => tool["name"] === name);
      expect(Object.keys(named("all_types")["outputSchema"].properties.rows.items.properties).length).toBeGreaterThan(
        40,
      );
      expect(named("find_customers")["outputSchema"].properties).toMatchObject({
        row_count: { type: "integer" },
        total_count: { type: "integer" },
        rows: { items: { properties: { id: { type: ["integer", "null"] }, name: { type: ["string", "null"] } } } },
      });
      expect(named("test_image_content")["outputSchema"]).toBeUndefined();
      // The client holds what it gets against the schema, and throws.
      const { structuredContent } = await client.callTool({ name: "all_types" });
      expect(structuredContent.rows).toHaveLength(3);
      const id = 30 + index * 10;
      for (const [name, args] of [
        ["find_customers", { limit: 1 }],
        ["add_customer", { id, name: "Eve" }],
        ["add_two", { id: id + 1, other: id + 2 }],
        ["remove_customer", { id }],
        ["numbers", {}],
        ["endless", {}],
      ] as const) {
        const result = await client.callTool({ name, arguments: args });
        expect([name, result.isError, typeof result.structuredContent]).toEqual([name, false, "object"]);
      }
      await client.close();
    },
  );
}

testWithMcpTools("A26 progress: growing values for clients that ask for it, and none for others", async () => {
  const program = await shared();
  const [first, second] = [await import(sdkV1("client/index.js")), await import(sdkV2Client())];
  const { StreamableHTTPClientTransport: Transport } = await import(sdkV1("client/streamableHttp.js"));
  const v1 = new first.Client(INFO);
  await v1.connect(new Transport(new URL(program.mcp)));
  const v2 = new second.Client(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await v2.connect(new second.StreamableHTTPClientTransport(new URL(program.mcp)));
  for (const call of [
    (params: object, options: object) => v1.callTool(params, undefined, options),
    (params: object, options: object) => v2.callTool(params, options),
  ]) {
    const values: number[] = [];
    const onprogress = ({ progress }: { readonly progress: number }): number => values.push(progress);
    await call({ name: "find_customer", arguments: { id: 1 } }, { onprogress });
    expect(values.length).toBeGreaterThanOrEqual(3);
    expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  }
  await v1.close();
  await v2.close();
  const both = { Accept: "application/json, text/event-stream" };
  const params = { name: "find_customer", arguments: { id: 1 } };
  const silent = await program.modern("tools/call", params, both);
  expect([silent.notices, silent.headers.get("content-type")]).toEqual([[], "application/json"]);
});
