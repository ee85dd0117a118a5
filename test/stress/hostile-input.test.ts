import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Program, start } from "../process/program.ts";

/** Little, so that what piles up ends the process soon. */
const HEAP_MIB = 64;
/** The heap, what DuckDB needs for so few rows, and the 256 MiB that docs/operations.md gives the service itself. */
const MOST_MIB = HEAP_MIB + 128 + 256;
const TEXT = "x".repeat(4_000_000);
const BODY = "y".repeat(1_000_000);

const search = "SELECT id, name FROM customers WHERE name <> '{{{params.text}}}' AND id >= {{params.least}}";
const project = {
  "eider.yaml": `http-port: 0
log: { level: silent }
trusted-proxies: [127.0.0.1]
mcp: { enabled: true, port: 0 }
connections:
  memory: { init: "CREATE TABLE customers AS SELECT range AS id, 'customer ' || range AS name FROM range(20)" }
`,
  "search.yaml": `url-path: /search
method: POST
operation: { type: Read }
template-source: search.sql
connection: memory
with-pagination: true
mcp-tool: { name: search, description: Finds customers whose name is another one }
request:
  - { field-name: text, field-in: body }
  - { field-name: least, field-in: body, validators: [{ type: int }], default: 0 }
`,
  "search.sql": search,
  "cached.yaml": `url-path: /cached
method: POST
operation: { type: Read }
template-source: search.sql
connection: memory
cache: { table: searches }
request:
  - { field-name: text, field-in: body }
  - { field-name: least, field-in: body, validators: [{ type: int }], default: 0 }
`,
};

/** The most that the process has had in memory so far, in MiB. */
function mostMemory({ pid }: Program): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return await response.json();
}

/** Sends something else each time, together more than would fit. */
async function survives(program: Program, count: number, send: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; n < count && !program.hasExited(); n++) await send(n);
  expect(program.stderr()).toBe("");
  expect(program.hasExited()).toBe(false);
  expect(mostMemory(program)).toBeLessThan(MOST_MIB);
}

test("no text that clients send is kept for long: memory levels off", async () => {
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` };
  await using program = await start(project, { env });
  const [url, mcp] = [await program.url(), await program.mcpUrl()];

  // A tool with 4 MB of text each time, every client another.
  await survives(program, 24, async (n) => {
    const params = { name: "search", arguments: { text: `${n} ${TEXT}`, limit: 10 } };
    const call = { jsonrpc: "2.0", id: n, method: "tools/call", params };
    expect(await post(mcp, call, { "X-Forwarded-For": `10.0.0.${n}` })).toMatchObject({ result: { isError: false } });
  });

  // The same endpoint over REST, with 1 MB of text.
  await survives(program, 75, async (n) => {
    expect(await post(`${url}/search?limit=10`, { text: `${n} ${BODY}` })).toMatchObject({ total_count: 20 });
  });

  // A short text each time, beside a long one that no template reads.
  await survives(program, 75, async (n) => {
    const padded = { text: `customer number ${n} of many`, least: 0, padding: BODY };
    expect(await post(`${url}/search?limit=10`, padded)).toMatchObject({ total_count: 20 });
  });

  // Results that are cached by what was sent.
  await survives(program, 45, async (n) => {
    expect(await post(`${url}/cached?limit=10`, { text: `${n} ${BODY}` })).toMatchObject({ total_count: 20 });
  });

  // Another SQL text each time, for whole numbers stand in it.
  await survives(program, 300, async (n) => {
    expect(await post(`${url}/search?limit=10`, { text: "x", least: -n })).toMatchObject({ total_count: 20 });
  });

  expect((await fetch(`${url}/health`)).status).toBe(200);
});
