import { expect, test } from "vitest";
import { mcpRequests } from "../mcp-program.ts";
import { MODERN_META } from "../mcp-server.ts";
import { scrape } from "../prometheus.ts";
import { openTraceCollector } from "../trace-collector.ts";
import { until } from "../until.ts";
import { start } from "./program.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";

test("calls of agents are in the metrics, in the traces and in the log as those of everybody else", async () => {
  await using collector = await openTraceCollector();
  await using program = await start({
    "eider.yaml": `http-port: 0
metrics: { public: true }
mcp: { port: 0 }
connections: { memory: { log-queries: true } }
tracing: { endpoint: "${collector.url}" }
`,
    "x.yaml": `url-path: /x
mcp-tool: { name: find, description: finds }
template-source: x.sql
connection: [memory]
request:
  - { field-name: n, field-in: query, validators: [{ type: int }] }
`,
    "x.sql": "SELECT i FROM range({{params.n}}) t(i)",
  });
  const url = await program.url();
  const mcp = await until("the line of MCP", () => /^MCP listening on (\S+)$/m.exec(program.stdout())?.[1]);
  const { message } = await mcpRequests(mcp).modern("tools/call", {
    name: "find",
    arguments: { n: 3 },
    _meta: { ...MODERN_META, traceparent: `00-${TRACE}-${CALLER}-01` },
  });
  expect(message?.result?.["isError"]).toBe(false);
  await (await fetch(`${url}/x?n=2`)).text();
  const scraped = await until("both calls", async () => {
    const told = await scrape(url);
    return told.has('eider_rows_total{endpoint="GET /x",surface="rest"}') ? told : undefined;
  });
  expect(scraped.get('eider_rows_total{endpoint="mcp-tool find",surface="mcp"}')).toBe(3);
  expect(scraped.get('eider_request_duration_seconds_count{endpoint="mcp-tool find",surface="mcp"}')).toBe(1);
  expect(scraped.get('eider_phase_duration_seconds_count{phase="first_row"}')).toBe(2);
  const lines = program
    .stderr()
    .split("\n")
    .filter((line) => line.includes('"message":"query: '));
  expect(lines.map((line) => JSON.parse(line)["endpoint"])).toEqual(["mcp-tool find", "GET /x"]);
  program.signal("SIGTERM");
  await program.exited;
  const call = collector.spans().find(({ name }) => name === "mcp-tool find");
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: CALLER });
  const below = collector.spans().filter(({ parentSpanId }) => parentSpanId === call?.spanId);
  expect(below.map(({ name }) => name)).toEqual(["validate", "prepare", "render", "queue", "first_row", "stream"]);
});
