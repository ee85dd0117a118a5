import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { expect } from "vitest";
import { type Json, sharedMcp } from "../mcp-program.ts";
import { inspector, testWithMcpTools, withMcpdo } from "../mcp-tools.ts";

/** The Inspector and mcpdo against the real program. The numbers are those of the acceptance list. */

const fixture = resolve(import.meta.dirname, "../fixtures/mcp/eider.yaml");
const eider = resolve(import.meta.dirname, "../../bin/eider.cjs");
const shared = sharedMcp();
/** A resource template of the project. */
const CUSTOMER = "test://customers/{id}{?status}";

/** Asks one thing over HTTP, and reads the JSON that it prints. */
async function inspect(url: string, args: readonly string[]): Promise<Json> {
  const { code, stdout, stderr } = await inspector([url, "--transport", "http", "--format", "json", ...args]);
  expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
  return JSON.parse(stdout).result;
}

for (const era of ["legacy", "auto", "modern"]) {
  testWithMcpTools(`A3 negotiation: ${era}; the schemas are portable`, async () => {
    const program = await shared();
    const args = ["--protocol-era", era, "--method", "tools/list"];
    const { code, stdout, stderr } = await inspector([program.mcp, "--transport", "http", ...args, "--strict"]);
    // Warnings there are: that a column may be NULL is told by a list of types.
    expect([code, /\d+ errors/.exec(stderr)?.[0]]).toEqual([0, "0 errors"]);
    expect(stdout).toContain('"find_customers"');
  });
}

testWithMcpTools("A12 the types of parameters are told in the input schema", async () => {
  const program = await shared();
  const { tools } = await inspect(program.mcp, ["--method", "tools/list"]);
  const tool = (name: string): Json => tools.find((each: Json) => each["name"] === name);
  const { inputSchema, annotations, title, description } = tool("find_customers");
  expect([title, description]).toEqual(["Find customers", "Finds customers by any of their properties"]);
  expect(inputSchema).toEqual({
    type: "object",
    additionalProperties: false,
    properties: {
      id: { type: "integer", format: "int64", minimum: 1, maximum: 1000, description: "The number of the customer" },
      name: { type: "string", minLength: 1, maxLength: 20, pattern: "^[A-Za-z]+$" },
      status: { type: "string", enum: ["active", "blocked"] },
      email: { type: "string", format: "email" },
      since: { type: "string", format: "date", description: expect.stringContaining("2020-01-01") },
      ref: { type: "string", format: "uuid" },
      vip: { type: "boolean" },
      limit: { type: "integer", minimum: 0, maximum: 10000, default: 100, description: "Rows to return." },
      offset: { type: "integer", minimum: 0, maximum: 9007199254740991, default: 0, description: "Rows to skip." },
    },
  });
  expect(annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
  expect(tool("find_customer")["inputSchema"].required).toEqual(["id"]);
  expect(tool("greet")["inputSchema"].properties.name).toEqual({ type: "string", default: "world" });
  expect(tool("numbers")["inputSchema"]).toEqual({ type: "object", additionalProperties: false });
});

testWithMcpTools("A14 the text is the array of rows, the same as in the structured content", async () => {
  const program = await shared();
  const args = ["--method", "tools/call", "--tool-name", "find_customers", "--tool-arg", "status=active"];
  const { content, structuredContent, isError } = await inspect(program.mcp, args);
  const rows = JSON.parse(content[0].text);
  expect(rows.map(({ name }: Json) => name)).toEqual(["Ada", "Cleo"]);
  expect(rows).toEqual(structuredContent.rows);
  expect([isError, structuredContent.row_count, content.length]).toEqual([false, 2, 1]);
});

testWithMcpTools(
  "A23 a call that takes long comes back by way of a task; A27 a resource template is completed",
  async () => {
    const program = await shared();
    await using proxy = await recordingProxy(program.mcp);
    await withMcpdo(async (mcpdo) => {
      const how = ["--transport", "http", "--era", "modern", "--connection", "c"];
      expect((await mcpdo(["connect", proxy.url, ...how])).code).toBe(0);
      const called = await mcpdo(["--connection", "c", "tools/call", "slow_compute", "seconds:=1", "label:=mine"]);
      expect([called.code, JSON.parse(called.stdout).structuredContent?.rows]).toEqual([
        0,
        [{ text: "computed mine", slept: null }],
      ]);
      const asked = proxy.methods.filter((method) => method === "tools/call" || method === "tasks/get");
      expect(asked.slice(0, 2)).toEqual(["tools/call", "tasks/get"]);
      const completed = await mcpdo([
        ...["--connection", "c", "prompts/complete"],
        ...["--complete-ref-type", "ref/resource", "--complete-ref", CUSTOMER],
        ...["--complete-arg-name", "status", "--complete-arg-value", "a"],
      ]);
      expect(completed.code).toBe(0);
      expect(JSON.parse(completed.stdout).values).toEqual(["active", "archived"]);
    });
  },
);

testWithMcpTools("A25 a client that does not know tasks waits, and gets its rows", async () => {
  const program = await shared();
  const args = ["--protocol-era", "legacy", "--method", "tools/call", "--tool-name", "wait", "--tool-arg", "ms=700"];
  const { structuredContent } = await inspect(program.mcp, args);
  expect(structuredContent.rows).toEqual([{ waited: 700, slept: null }]);
  const modern = await program.call("wait", { ms: 700 });
  expect([modern["resultType"], modern["structuredContent"].row_count]).toEqual(["complete", 1]);
});

testWithMcpTools("A27 a resource template is listed and read", async () => {
  const program = await shared();
  const { resourceTemplates } = await inspect(program.mcp, ["--method", "resources/templates/list"]);
  expect(resourceTemplates.map((each: Json) => each["uriTemplate"])).toContain(CUSTOMER);
  const { contents } = await inspect(program.mcp, ["--method", "resources/read", "--uri", "test://customers/1"]);
  expect(contents).toEqual([
    { uri: "test://customers/1", mimeType: "application/json", text: '[{"id":1,"name":"Ada","status":"active"}]' },
  ]);
});

const stdio = ["--", process.execPath, eider, "mcp", "--stdio", "--config", fixture];

for (const era of ["legacy", "auto", "modern"]) {
  testWithMcpTools(`A35 stdio, ${era}`, async () => {
    const call = ["--method", "tools/call", "--tool-name", "find_customer", "--tool-arg", "id=2"];
    const called = await inspector(["--protocol-era", era, "--format", "json", ...call, ...stdio]);
    expect([called.code, JSON.parse(called.stdout).result.structuredContent.rows]).toMatchObject([
      0,
      [{ name: "Ben" }],
    ]);
  });
}

// In every era over HTTP, see A3.
testWithMcpTools("A35 stdio, a list", async () => {
  const listed = await inspector(["--method", "tools/list", "--format", "json", ...stdio]);
  expect([listed.code, listed.stdout.includes('"find_customers"')]).toEqual([0, true]);
});

/** Hands everything on, and writes down which methods were asked for. */
async function recordingProxy(target: string) {
  const methods: string[] = [];
  const server = createServer((asked, answer) => {
    methods.push(String(asked.headers["mcp-method"]));
    const { method, headers } = asked;
    const onward = request(target, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    asked.pipe(onward);
    answer.on("close", () => onward.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    methods,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
