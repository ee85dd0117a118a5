import { resolve } from "node:path";
import { expect } from "vitest";
import { type Json, startMcp } from "../mcp-program.ts";
import { python, testWithPython } from "../python.ts";

/** The SDK for Python, `mcp` from PyPI, as a client of the real program, over HTTP and stdio. */

const fixture = resolve(import.meta.dirname, "../fixtures/mcp/eider.yaml");
const eider = resolve(import.meta.dirname, "../../bin/eider.cjs");
const testWithMcp = testWithPython("mcp.client.client");

/** Its argument is a list of servers, each an address or a command, and how to negotiate with it. */
const PROGRAM = `
import asyncio, json, sys
from mcp import StdioServerParameters
from mcp.client.client import Client

async def ask(where, mode):
    server = where if isinstance(where, str) else StdioServerParameters(command=where[0], args=where[1:])
    progress = []
    async def on_progress(done, total, message):
        progress.append(done)
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        found = await client.call_tool("find_customers", {"status": "active"}, progress_callback=on_progress)
        wrong = await client.call_tool("find_customer", {"id": 0})
        types = await client.call_tool("all_types", {})
        read = await client.read_resource("test://customers/2")
        prompt = await client.get_prompt("write_to_customer", {"name": "Ada"})
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "rows": found.structured_content["rows"],
            "text": found.content[0].text,
            "progress": progress,
            "wrong": [wrong.is_error, wrong.content[0].text],
            "types": len(types.structured_content["rows"]),
            "read": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }

async def main():
    print(json.dumps([await ask(where, mode) for where, mode in json.loads(sys.argv[1])]))

asyncio.run(main())
`;

const modes = [
  ["legacy", "2025-11-25"],
  ["auto", "2026-07-28"],
  ["2026-07-28", "2026-07-28"],
] as const;

function expectTold(answer: Json, version: string): void {
  expect(answer).toMatchObject({
    version,
    tools: expect.arrayContaining(["find_customer", "add_customer"]),
    rows: [{ name: "Ada" }, { name: "Cleo" }],
    wrong: [true, "id: Integer is less than the minimum allowed value"],
    types: 3,
    read: '[{"id":2,"name":"Ben","status":"blocked"}]',
    prompt: "Write to Ada & co.",
  });
  expect(JSON.parse(answer["text"])).toEqual(answer["rows"]);
  expect(answer["progress"].length).toBeGreaterThanOrEqual(3);
}

testWithMcp("the SDK for Python over HTTP and stdio, however it negotiates", async () => {
  await using program = await startMcp();
  const servers = [program.mcp, [process.execPath, eider, "mcp", "--config", fixture]];
  // It takes a second to start.
  const asked = servers.flatMap((server) => modes.map(([mode, version]) => ({ server, mode, version })));
  const answers: Json[] = JSON.parse(
    python(PROGRAM, "", [JSON.stringify(asked.map(({ server, mode }) => [server, mode]))]),
  );
  expect(answers).toHaveLength(asked.length);
  for (const [index, answer] of answers.entries()) expectTold(answer, asked[index]?.version ?? "");
});
