import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type McpProgram, modernBody, modernHeaders, startMcp } from "../mcp-program.ts";
import { MODERN_META } from "../mcp-server.ts";

/** What goes over the wire, of the real program. The numbers are those of the acceptance list. */
let program: McpProgram;
beforeAll(async () => {
  program = await startMcp();
});
afterAll(() => program[Symbol.asyncDispose]());

const NO_CAPABILITIES = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

describe("the new era", () => {
  test("A6 server/discover says what there is, for how long, and who we are", async () => {
    const { status, headers, message } = await program.modern("server/discover");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    const result = message?.result ?? {};
    expect(result).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      cacheScope: "public",
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "mcp-fixture", version: "1.0.0" } },
    });
    expect(result["ttlMs"]).toBeGreaterThanOrEqual(0);
    expect(result["instructions"]).toContain("Customers, and what the conformance suite of MCP looks for");
  });

  test("A7 header and body differ: another method, or none in the header", async () => {
    const other = await program.post(modernBody("tools/list"), modernHeaders("tools/call"));
    expect([other.status, other.message?.error?.code, other.message?.id]).toEqual([400, -32020, 1]);
    const { "Mcp-Method": _, ...without } = modernHeaders("tools/list");
    const missing = await program.post(modernBody("tools/list"), without);
    expect([missing.status, missing.message?.error?.code]).toEqual([400, -32020]);
    const params = { name: "greet", arguments: {} };
    const renamed = await program.modern("tools/call", params, { "Mcp-Name": "wait" });
    expect([renamed.status, renamed.message?.error?.code]).toEqual([400, -32020]);
    const encoded = await program.modern("tools/call", params, { "Mcp-Name": "=?base64?Z3JlZXQ=?=" });
    expect([encoded.status, encoded.message?.result?.["content"][0].text]).toEqual([200, "Hello, world!"]);
  });

  test("A8 an unknown version, capabilities that are missing, a method that is gone", async () => {
    const meta = { ...MODERN_META, "io.modelcontextprotocol/protocolVersion": "2030-01-01" };
    const version = await program.modern("tools/list", { _meta: meta }, { "MCP-Protocol-Version": "2030-01-01" });
    expect([version.status, version.message?.error]).toMatchObject([
      400,
      { code: -32022, data: { supported: ["2026-07-28"], requested: "2030-01-01" } },
    ]);
    const capabilities = await program.modern("tools/list", { _meta: NO_CAPABILITIES });
    expect([capabilities.status, capabilities.message?.error?.code]).toEqual([400, -32602]);
    for (const gone of ["ping", "initialize", "logging/setLevel", "resources/subscribe", "tasks/list"]) {
      const { status, message } = await program.modern(gone);
      expect([gone, status, message?.error?.code]).toEqual([gone, 404, -32601]);
    }
  });
});

describe("plain scripts", () => {
  test("A9 no Accept, no session and no initialize are needed, at every address", async () => {
    for (const path of ["/mcp", "/mcp/", "/mcp/jsonrpc", "/"]) {
      const answer = await bare(new URL(path, program.mcp).href, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
      expect([path, answer.status, answer.type]).toEqual([path, 200, "application/json"]);
      const { result } = JSON.parse(answer.text);
      expect(result.tools.map(({ name }: { readonly name: string }) => name)).toContain("find_customers");
    }
    const called = await program.legacy("tools/call", { name: "find_customers", arguments: { id: "1" } });
    expect(JSON.parse(called.message?.result?.["content"][0].text)).toMatchObject([{ id: 1, name: "Ada" }]);
    expect((await program.legacy("nonsense")).message?.error?.code).toBe(-32601);
  });

  test("A10 a notification gets 202 and nothing else", async () => {
    const { status, text } = await program.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, text]).toEqual([202, ""]);
    const unknown = await program.post({ jsonrpc: "2.0", method: "notifications/nonsense", params: { a: 1 } });
    expect([unknown.status, unknown.text]).toEqual([202, ""]);
  });

  test("A11 a big id comes back with the same digits, and so does one that is a text", async () => {
    for (const id of ["12345678901234567", "-9007199254740993", '"a\\u0000 b"', "123456789012345678901234567890"]) {
      const body = JSON.stringify(modernBody("tools/list", {}, "ID")).replace('"ID"', id);
      const { status, text } = await program.post(body, modernHeaders("tools/list"));
      expect([id, status, text.startsWith(`{"jsonrpc":"2.0","id":${id},`)]).toEqual([id, 200, true]);
      const legacy = await program.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expect(legacy.text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    }
  });

  test("an array of messages is answered with one of answers, none for notifications", async () => {
    const { status, text } = await program.post([
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "greet" } },
    ]);
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      [
        { id: 1, result: {} },
        { id: 2, result: { isError: false } },
      ],
    ]);
  });
});

test("A17 an unknown tool, resource or prompt is an error of the protocol in HTTP 200", async () => {
  const uri = "test://customers";
  const asked = {
    "tools/call": [{ name: "nobody" }, "Unknown tool: nobody"],
    "prompts/get": [{ name: "nobody" }, "Prompt not found: nobody"],
    "resources/read": [{ uri }, "Resource not found"],
  } as const;
  for (const [method, [params, message]] of Object.entries(asked)) {
    const modern = await program.modern(method, params);
    expect([modern.status, modern.message?.error]).toMatchObject([200, { code: -32602, message }]);
    const legacy = await program.legacy(method, params);
    const code = method === "resources/read" ? -32002 : -32602;
    expect([legacy.status, legacy.message?.error]).toMatchObject([200, { code, message }]);
  }
  expect((await program.modern("resources/read", { uri })).message?.error?.data).toEqual({ uri });
});

test("A28 prompts: arguments are filled in, what is missing is empty, an unknown one is not found", async () => {
  const get = async (args: object): Promise<string> => {
    const { message } = await program.modern("prompts/get", { name: "write_to_customer", arguments: args });
    expect(message?.result).toMatchObject({ description: "A letter to a customer", messages: [{ role: "user" }] });
    return message?.result?.["messages"][0].content.text;
  };
  expect(await get({ name: "Ada <b>", status: "active" })).toBe("Write to Ada <b> & co. Their status is active.");
  expect(await get({})).toBe("Write to  & co.");
  const listed = await program.legacy("prompts/list");
  expect(listed.message?.result?.["prompts"]).toContainEqual({
    name: "write_to_customer",
    description: "A letter to a customer",
    arguments: [
      { name: "name", required: false },
      { name: "status", required: false },
    ],
  });
  const unknown = await program.legacy("prompts/get", { name: "write_to_nobody" });
  expect(unknown.message?.error).toMatchObject({ code: -32602, message: "Prompt not found: write_to_nobody" });
});

test("A34 a page of somebody else cannot call: neither by another name nor from another origin", async () => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const { port } = new URL(program.mcp);
  for (const headers of [
    { Host: "evil.example" },
    { Host: `evil.example:${port}` },
    { Origin: "http://evil.example" },
    { Origin: "null" },
    { Origin: `http://127.0.0.1.evil.example:${port}` },
  ]) {
    const answer = await bare(program.mcp, body, headers);
    expect([headers, answer.status]).toEqual([headers, 403]);
    expect(JSON.parse(answer.text).error).toBeDefined();
  }
  for (const headers of [{}, { Host: `localhost:${port}` }, { Origin: `http://localhost:${port}` }]) {
    expect([headers, (await bare(program.mcp, body, headers)).status]).toEqual([headers, 200]);
  }
});

/** A POST with no headers but its type and these. */
function bare(url: string, body: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ status: number | undefined; type: string | undefined; text: string }>((resolve, reject) => {
    const asking = request(
      url,
      { method: "POST", headers: { "Content-Type": "application/json", ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode, type: response.headers["content-type"], text }),
        );
      },
    );
    asking.on("error", reject);
    asking.end(body);
  });
}
