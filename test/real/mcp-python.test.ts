import { resolve } from "node:path";
import { expect } from "vitest";
import { type Json, startMcp } from "../mcp-program.ts";
import { python, testWithPython } from "../python.ts";

/** The SDK for Python, `mcp` from PyPI, as a client of the real program, over HTTP and stdio. */

const fixture = resolve(import.meta.dirname, "../fixtures/mcp/eider.yaml");
const eider = resolve(import.meta.dirname, "../../bin/eider.cjs");
const testWithMcp = testWithPython("mcp.client.client");

/** Its first argument is an address or a command, as JSON; the second is how to negotiate. */
const PROGRAM = `
import asyncio, json, sys
from mcp import StdioServerParameters
from mcp.client.client import Client

async def main():
    where, mode = json.loads(sys.argv[1]), sys.argv[2]
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
        print(json.dumps({
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "rows": found.structured_content["rows"],
            "text": found.content[0].text,
            "progress": progress,
            "wrong": [wrong.is_error, wrong.content[0].text],
            "types": len(types.structured_content["rows"]),
            "read": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }))

asyncio.run(main())
`;

function told(where: string | readonly string[], mode: string): Json {
  return JSON.parse(python(PROGRAM, "", [JSON.stringify(where), mode]));
}

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

for (const [mode, version] of modes) {
  testWithMcp(`the SDK for Python over HTTP, ${mode}`, async () => {
    await using program = await startMcp();
    expectTold(told(program.mcp, mode), version);
  });

  testWithMcp(`the SDK for Python over stdio, ${mode}`, () => {
    expectTold(told([process.execPath, eider, "mcp", "--config", fixture], mode), version);
  });
}
