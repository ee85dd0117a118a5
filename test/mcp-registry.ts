import type { JsonText, McpCall, McpService, PromptResult, ToolResult } from "../src/mcp/mcp-service.ts";
import { McpError } from "../src/mcp/mcp-service.ts";
import { CODE, RpcFailure } from "../src/mcp/protocol.ts";
import { jsonSchemaTool } from "./mcp-schema-tool.ts";

/** The tools, resources and prompts that the conformance suite needs, without a project: they test only the protocol. */

/** An image of one red pixel, and the shortest valid sound. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

type Args = ReadonlyMap<string, { readonly text: string }>;
type Tool = (args: Args, call: McpCall) => Promise<ToolResult>;

const result = (...content: readonly object[]): ToolResult => ({
  content: JSON.stringify(content),
  structuredContent: undefined,
  isError: false,
});
const text = (words: string) => ({ type: "text", text: words });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, words: string) => ({
  type: "resource",
  resource: { uri, mimeType, text: words },
});

/** Waits, unless the call is aborted. */
function pause(ms: number, { signal }: Pick<McpCall, "signal">): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

async function withLogs(call: McpCall): Promise<ToolResult> {
  call.log("info", "Tool execution started");
  await pause(20, call);
  call.log("info", "Tool processing data");
  await pause(20, call);
  call.log("info", "Tool execution completed");
  return result(text("logged"));
}

/** A tool call that takes longer becomes a task. */
export const TASK_AFTER_MS = 100;

function toolsFor(change: (list: "tools" | "prompts") => void): Readonly<Record<string, Tool>> {
  return {
    test_simple_text: async () => result(text("This is a simple text response for testing.")),
    test_image_content: async () => result(image),
    test_audio_content: async () => result({ type: "audio", data: WAV, mimeType: "audio/wav" }),
    test_embedded_resource: async () =>
      result(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    test_multiple_content_types: async () =>
      result(
        text("Multiple content types test:"),
        image,
        resource("test://mixed", "application/json", '{"value":123}'),
      ),
    test_error_handling: async () => ({
      ...result(text("This tool intentionally returns an error for testing")),
      isError: true,
    }),
    async test_tool_with_progress(_, call) {
      call.progress(0, 100, "begun");
      await pause(20, call);
      call.progress(50, 100, "half");
      await pause(20, call);
      call.progress(100, 100, "done");
      return result(text("done"));
    },
    test_tool_with_logging: (_, call) => withLogs(call),
    test_logging_tool: (_, call) => withLogs(call),
    async test_trigger_tool_change() {
      change("tools");
      return result(text("changed"));
    },
    async test_trigger_prompt_change() {
      change("prompts");
      return result(text("changed"));
    },
    /** Requires a client capability that no client has. */
    async test_missing_capability() {
      const data = '{"requiredCapabilities":{"sampling":{}}}';
      throw new RpcFailure({ code: CODE.missingCapability, message: "Missing required client capability", data }, 400);
    },
    async test_streaming_elicitation(_, call) {
      call.progress(50, 100, "half");
      return result(text("nothing was asked"));
    },
    [jsonSchemaTool.name]: async () => result(text("{}")),
    greet: async (args) => result(text(`Hello, ${args.get("name")?.text}!`)),
    async slow_compute(args, call) {
      await pause(Math.max(Number(args.get("seconds")?.text ?? 1) * 1_000, TASK_AFTER_MS + 50), call);
      return result(text("computed"));
    },
    async failing_job(_, call) {
      await pause(TASK_AFTER_MS + 200, call);
      return { ...result(text("the job failed")), isError: true };
    },
    async protocol_error_job(_, call) {
      await pause(TASK_AFTER_MS + 200, call);
      throw new McpError({ kind: "internal", message: "the job broke" });
    },
    /** Returns its arguments unchanged. */
    async echo(args) {
      const members = [...args].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value.text)}`);
      return { ...result(text("echo")), structuredContent: `{${members.join(",")}}` };
    },
  };
}

const resources: Readonly<
  Record<string, { readonly mimeType: string; readonly text?: string; readonly blob?: string }>
> = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "watched" },
};

const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;

type Prompt = (args: ReadonlyMap<string, string>) => readonly object[];

const prompts: Readonly<Record<string, { readonly args: readonly string[]; readonly content: Prompt }>> = {
  test_simple_prompt: { args: [], content: () => [text("This is a simple prompt for testing.")] },
  test_prompt_with_arguments: {
    args: ["arg1", "arg2"],
    content: (args) => [text(`Prompt with arguments: arg1='${args.get("arg1")}', arg2='${args.get("arg2")}'`)],
  },
  test_prompt_with_embedded_resource: {
    args: ["resourceUri"],
    content: (args) => [
      resource(args.get("resourceUri") ?? "", "text/plain", "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    ],
  },
  test_prompt_with_image: { args: [], content: () => [image, text("Please analyze the image above.")] },
};

const byName = (definitions: readonly (readonly [string, object])[]): readonly JsonText[] =>
  [...definitions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, definition]) => JSON.stringify(definition));

/** `extra` are the names of tools and prompts that a reload added. Some tools call `change`. */
export function testRegistry(
  extra: { readonly tools?: readonly string[]; readonly prompts?: readonly string[] } = {},
  change: (list: "tools" | "prompts") => void = () => {},
): McpService {
  const tools = toolsFor(change);
  const inputSchema = { type: "object" };
  const described = (name: string) => ({ name, description: `The tool ${name}` });
  return {
    serverInfo: { name: "eider-test", title: "Eider under test", version: "0.0.0" },
    instructions: "Only for tests.",
    lists: {
      tools: byName([
        ...Object.keys(tools)
          .filter((name) => name !== jsonSchemaTool.name)
          .concat(extra.tools ?? [])
          .map((name) => [name, { ...described(name), inputSchema }] as const),
        [jsonSchemaTool.name, jsonSchemaTool],
      ]),
      resources: byName(
        Object.entries(resources).map(([uri, { mimeType }]) => [uri, { uri, name: uri, description: uri, mimeType }]),
      ),
      templates: byName([
        [
          "template",
          {
            uriTemplate: "test://template/{id}/data",
            name: "template",
            description: "By id",
            mimeType: "application/json",
          },
        ],
      ]),
      prompts: byName([
        ...Object.entries(prompts).map(
          ([name, { args }]) =>
            [
              name,
              {
                name,
                description: name,
                arguments: args.map((arg) => ({ name: arg, description: arg, required: true })),
              },
            ] as const,
        ),
        ...(extra.prompts ?? []).map((name) => [name, { name, description: name }] as const),
      ]),
    },
    async callTool(name, args, call) {
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (tool === undefined) throw new McpError({ kind: "unknown-name", message: `Unknown tool: ${name}` });
      return await tool(args, call);
    },
    async readResource(uri) {
      const id = TEMPLATE.exec(uri)?.[1];
      const found =
        id === undefined
          ? Object.hasOwn(resources, uri)
            ? resources[uri]
            : undefined
          : { mimeType: "application/json", text: JSON.stringify({ id, data: `Data for ID: ${id}` }) };
      if (found === undefined) throw new McpError({ kind: "resource-not-found", uri });
      return { contents: JSON.stringify([{ uri, ...found }]), ttlMs: 0, isPrivate: true };
    },
    async getPrompt(name, args): Promise<PromptResult> {
      const prompt = Object.hasOwn(prompts, name) ? prompts[name] : undefined;
      if (prompt === undefined) throw new McpError({ kind: "unknown-name", message: `Prompt not found: ${name}` });
      const messages = prompt.content(args).map((content) => ({ role: "user", content }));
      return { description: name, messages: JSON.stringify(messages) };
    },
    async complete(_ref, { value }) {
      const values = ["paris", "park", "party"].filter((word) => word.startsWith(value));
      return { values, total: values.length, hasMore: false };
    },
  };
}
