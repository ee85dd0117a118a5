import { expect, test } from "vitest";
import type { McpService } from "../../src/mcp/mcp-service.ts";
import { measureMemory } from "../heap.ts";
import { testRegistry } from "../mcp-registry.ts";
import { mcpServer, mcpSettings, TASKS_META, taskSettings } from "../mcp-server.ts";
import { endpoint, serviceFrom } from "../service.ts";
import { pageOf, statement, testEngine } from "../suites/duckdb-engine.ts";
import { address, FILLED_BY_SERVICES, long, type Store, testThatMemoryLevelsOff } from "./filled-stores.ts";

/** What takes the most memory for its length once it is parsed. */
const nested = (length: number): string =>
  `[${Array(Math.floor(length / 3))
    .fill("[]")
    .join(",")}]`;

const stores: readonly Store[] = [
  {
    rows: ["totals of paginated reads"],
    count: 100,
    async open() {
      const t = await testEngine("CREATE TABLE t AS SELECT range AS id, 'name' AS name FROM range(50)");
      const sql = "SELECT id FROM t WHERE name <> $1";
      return {
        async fill(n) {
          const value = { type: "VARCHAR", value: long(n, 100_000) } as const;
          await (await t.engine.read(pageOf([statement(sql, value)], 10))).close();
        },
        [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
      };
    },
  },
  {
    rows: ["facts about SQL texts", "prepared statements"],
    count: 120,
    async open() {
      const t = await testEngine("CREATE TABLE t AS SELECT range AS id FROM range(50)", { maxConcurrentQueries: 1 });
      return {
        async fill(n) {
          const sql = `SELECT id FROM t WHERE id >= 0 /* ${long(n, 50_000)} */`;
          await (await t.engine.read(pageOf([statement(sql)], 10))).close();
        },
        [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
      };
    },
  },
  {
    rows: ["calls in the result cache"],
    count: 25,
    async open() {
      const field = "request:\n  - { field-name: text, field-in: body }\n";
      const yaml = `method: POST\noperation: { type: Read }\ncache: { table: results }\n${field}`;
      const service = await serviceFrom(endpoint("SELECT length('{{{params.text}}}') AS n", yaml));
      return {
        async fill(n) {
          const body = JSON.stringify({ text: long(n, 400_000) });
          const headers = { "content-type": "application/json" };
          const response = await service.request("/x", { method: "POST", headers, body });
          expect(await response.json()).toMatchObject({ data: [{ n: 400_000 }] });
        },
        [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
      };
    },
  },
  {
    rows: ["requests of open MCP streams"],
    count: 40,
    async open() {
      const mcp = await mcpServer({ proxies: { isTrusted: (peer) => peer === "127.0.0.1" } });
      // A response without references is collected, and its connection is closed.
      const open: Response[] = [];
      const padding = JSON.parse(nested(60_000));
      return {
        async fill(n) {
          const params = { notifications: { toolsListChanged: true }, padding };
          const response = await mcp.modern("subscriptions/listen", params, { "X-Forwarded-For": address(n) });
          if (response.headers.get("content-type") === "text/event-stream") open.push(response);
          else expect(await response.json()).toHaveProperty("error");
        },
        [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
      };
    },
  },
  {
    rows: ["messages of MCP tasks that wait or run"],
    count: 36,
    async open() {
      let calls = 0;
      // The first one never ends, and all other tasks wait for it. Other calls return at once.
      const callTool: McpService["callTool"] = () =>
        calls++ === 0
          ? new Promise(() => {})
          : Promise.resolve({ content: "[]", structuredContent: undefined, isError: false });
      const tasks = { ...taskSettings, afterMs: 0, workers: 1, queueDepth: 1_000 };
      const mcp = await mcpServer({
        service: { ...testRegistry(), callTool },
        settings: mcpSettings({ tasks }),
        proxies: { isTrusted: (peer) => peer === "127.0.0.1" },
      });
      const params = { _meta: TASKS_META, name: "greet", arguments: { padding: JSON.parse(nested(500_000)) } };
      return {
        async fill(n) {
          const response = await mcp.modern("tools/call", params, { "X-Forwarded-For": address(n) });
          expect(await response.json()).toHaveProperty("result");
        },
        [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
      };
    },
  },
];

test("these are the rows that the other file leaves out", () => {
  expect(stores.flatMap(({ rows }) => rows)).toEqual(FILLED_BY_SERVICES);
});

testThatMemoryLevelsOff(stores);

test("DuckDB does not keep long values with a prepared statement", async () => {
  await using t = await testEngine("CREATE TABLE t AS SELECT range AS id, 'name' AS name FROM range(10)");
  const value = { type: "VARCHAR", value: "x".repeat(4_000_000) } as const;
  const read = async (n: number): Promise<void> => {
    const rows = await t.engine.read(
      pageOf([statement(`SELECT id FROM t WHERE name <> $1 AND id >= -${n}`, value)], 100),
    );
    await rows.close();
  };
  for (let n = 0; n < 5; n++) await read(n);
  await measureMemory();
  const before = process.memoryUsage().rss;
  for (let n = 5; n < 45; n++) await read(n);
  await measureMemory();
  // With them, 40 statements take 190 MB.
  expect(process.memoryUsage().rss - before).toBeLessThan(95_000_000);
});
