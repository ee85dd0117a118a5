import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MODERN_META } from "../mcp-server.ts";
import { type Program, start } from "../process/program.ts";

/** In MiB. What DuckDB may have, and what docs/operations.md says that the service takes beside it. */
const DATABASE = 256;
const SERVICE = 256;
const MIB = 1_048_576;

const read = (name: string, sql: string): Record<string, string> => ({
  [`${name}.yaml`]: `url-path: /${name}
mcp-tool: { name: ${name}, description: x }
template-source: ${name}.sql
connection: memory
with-pagination: false
request:
  - { field-name: n, field-in: query, validators: [{ type: int }] }
`,
  [`${name}.sql`]: sql,
});

const project = {
  "eider.yaml": `http-port: 0\nmcp: { port: 0 }\nlog: { level: silent }\nduckdb: { max_memory: ${DATABASE}MiB }\nconnections: { memory: {} }\n`,
  ...read("one", "SELECT 1 AS n"),
  ...read("text", "SELECT repeat('x', {{params.n}}) AS v"),
  ...read("bytes", "SELECT repeat('x', {{params.n}})::BLOB AS v"),
  ...read("nested", "SELECT {'a': [repeat('x', {{params.n}})]} AS v"),
  ...read("between", "SELECT length(repeat('x', {{params.n}})) AS v"),
  ...read("always", "SELECT repeat('x', 3000000000) AS v"),
  ...read("gathered", "SELECT string_agg(repeat('x', 1000), '') AS v FROM range({{params.n}} // 1000)"),
  ...read("listed", "SELECT list(range) AS v FROM range({{params.n}} // 8)"),
  ...read("series", "SELECT range({{params.n}}) AS v"),
};

/** The most that it has had in memory so far, in MiB. */
function mostMemory({ pid }: Program): number {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

async function answerOf(url: string): Promise<string> {
  const response = await fetch(url);
  return `${response.status} ${await response.text()}`;
}

async function toolResult(url: string, name: string, n: number): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "tools/call",
      "Mcp-Name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { _meta: MODERN_META, name, arguments: { n } },
    }),
  });
  return await response.text();
}

test("values of 3 GB, and five of 200 MB at once, are refused within the bound", async () => {
  await using program = await start(project);
  const [url, mcpUrl] = [await program.url(), await program.mcpUrl()];
  const refused = /^500 .*limits\.max-value-bytes \(67108864\)/;
  for (const name of ["text", "bytes", "nested", "between", "always"]) {
    expect(await answerOf(`${url}/${name}?n=3000000000`)).toMatch(refused);
    expect(await toolResult(mcpUrl, name, 3_000_000_000)).toContain("limits.max-value-bytes");
    const five = await Promise.all(
      ["json", "csv", "ndjson", "arrow", "parquet"].map((format, index) =>
        answerOf(`${url}/${name}?n=${200_000_000 + index}&format=${format}`),
      ),
    );
    for (const answer of five) expect(answer).toMatch(refused);
    expect(await answerOf(`${url}/one`)).toBe('200 [{"n":1}]');
  }
  // What aggregates gather is counted by DuckDB's own limit.
  expect(await answerOf(`${url}/gathered?n=3000000000`)).toMatch(/^500 .*Out of Memory Error/);
  expect(await answerOf(`${url}/listed?n=3000000000`)).toMatch(/^500 .*Out of Memory Error/);
  expect((await answerOf(`${url}/text?n=1000000`)).length).toBe("200 ".length + 1_000_000 + '[{"v":""}]'.length);
  expect(mostMemory(program)).toBeLessThan(DATABASE + SERVICE);
  expect(program.hasExited()).toBe(false);
});

test("what DuckDB does not count is held by the kernel, and ends in an error", async () => {
  const limit = 2048;
  await using program = await start(project, { dataLimitKiB: limit * 1024 });
  const url = await program.url();
  const four = await Promise.all(
    Array.from({ length: 4 }, (_, index) => answerOf(`${url}/series?n=${2_000_000_000 + index}`)),
  );
  for (const answer of four) expect(answer).toMatch(/^500 .*Out of Memory Error/);
  expect(await answerOf(`${url}/one`)).toBe('200 [{"n":1}]');
  expect(await answerOf(`${url}/series?n=3`)).toBe('200 [{"v":[0,1,2]}]');
  expect(mostMemory(program)).toBeLessThan(limit);
});

test("a value up to the limit costs about four times its length", async () => {
  await using program = await start(project);
  const url = await program.url();
  await answerOf(`${url}/one`);
  const before = mostMemory(program);
  const length = 60 * MIB;
  expect((await fetch(`${url}/text?n=${length}`).then((response) => response.arrayBuffer())).byteLength).toBe(
    length + 10,
  );
  expect(mostMemory(program) - before).toBeLessThan((4 * length) / MIB + 64);
});
