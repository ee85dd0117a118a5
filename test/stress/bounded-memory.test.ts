import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAppendedFile } from "../../src/audit/appended-file.ts";
import type { Authenticated } from "../../src/auth/authenticator.ts";
import { openFailedAttempts } from "../../src/auth/failed-attempts.ts";
import { identityKey, identityOf } from "../../src/auth/identity.ts";
import { openTokenCache } from "../../src/auth/oidc/token-cache.ts";
import { openExpiringCache } from "../../src/auth/verified.ts";
import { json } from "../../src/formats/json/json.ts";
import { openRows } from "../../src/formats/json/rows.ts";
import type { McpService } from "../../src/mcp/mcp-service.ts";
import { MAX_SUBSCRIBED_URI_LENGTH, MAX_SUBSCRIPTIONS, openSessions } from "../../src/mcp/sessions.ts";
import { memoryTaskStore } from "../../src/mcp/tasks/memory-store.ts";
import { openRateLimiter } from "../../src/rate-limit/rate-limiter.ts";
import { negotiateCoding } from "../../src/rest/negotiation/negotiate-coding.ts";
import { openNegotiation } from "../../src/rest/negotiation/negotiate-format.ts";
import { openResponseCache } from "../../src/rest/response/response-cache.ts";
import { heldBytes } from "../heap.ts";
import { tablesOf } from "../markdown.ts";
import { testRegistry } from "../mcp-registry.ts";
import { mcpServer, mcpSettings, TASKS_META, taskSettings } from "../mcp-server.ts";
import { endpoint, serviceFrom } from "../service.ts";
import { pageOf, statement, testEngine } from "../suites/duckdb-engine.ts";

/** A place where something is kept of what clients send. */
interface Store {
  /** Rows of the table in docs/operations.md, which together are its bound. */
  readonly rows: readonly string[];
  /** How many entries are more than it may keep. */
  readonly count: number;
  open(): Promise<Filling> | Filling;
}

interface Filling extends Partial<AsyncDisposable> {
  /** Adds the largest legal input of client `n`; no two are the same. */
  fill(n: number): unknown;
}

const MIB = 1024 * 1024;
/** Compiled code and the like, which are no part of a store. And a map that has lost as many as it got may grow once. */
const NOISE = MIB;
/** Text of two bytes per character, the most that JavaScript takes, in one piece as a parser would make it. */
const long = (n: number, length: number): string =>
  Buffer.from(`${n} `.padEnd(length, "ж"), "utf16le").toString("utf16le");
const address = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
const identity = (n: number): Authenticated => {
  const found = identityOf({ type: "bearer", username: `user ${n}`, roles: [long(n, 6_000)] });
  identityKey(found);
  return { kind: "identity", identity: found };
};
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
    rows: ["responses served from memory"],
    count: 5_000,
    open() {
      const answers = openResponseCache();
      return {
        async fill(n) {
          const size = n % 50 === 0 ? 256 * 1024 : 2_000;
          const body = [Buffer.alloc(size)];
          const answer = { kind: "whole", headers: [], contentType: "x", body, size, tag: "x" } as const;
          const watch = () => Promise.resolve(() => true);
          answers.offer(long(n, 2_048), { ...answer, compressed: undefined, cached: undefined }, watch);
          if (n % 10 === 0)
            answers.offer(long(n, 2_048), { ...answer, compressed: undefined, cached: undefined }, watch);
          await watch();
        },
      };
    },
  },
  {
    rows: ["parsed `Accept` and `Accept-Encoding`"],
    count: 1_000,
    open() {
      const negotiations = [openNegotiation([json]), openNegotiation([json])];
      return {
        fill(n) {
          const header = (text: string): string => `${text}${n},${text.repeat(200)}`.slice(0, 512);
          for (const negotiate of negotiations) negotiate("json", header("a/b,"));
          negotiateCoding(header("a,"));
        },
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
    rows: ["column names of JSON responses"],
    count: 60,
    open: () => ({
      fill: (n) => openRows([{ name: long(n, 100_000), type: { kind: "text" } }], { before: ",", after: "" }),
    }),
  },
  {
    rows: ["verified and rejected credentials"],
    count: 3_000,
    open() {
      const remembered = openTokenCache(() => 0);
      const wrong = openExpiringCache<Authenticated>({ maxBytes: MIB, bytesOf: () => 0, now: () => 0 });
      const refused: Authenticated = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
      return {
        fill(n) {
          remembered.set(String(n), { result: identity(n), until: 1, isCurrent: () => true });
          for (let each = 0; each < 3; each++) wrong.set(`${n} ${each}`.padEnd(32), refused, 1);
        },
      };
    },
  },
  {
    rows: ["failed logins"],
    count: 24_000,
    open() {
      const attempts = openFailedAttempts({ now: () => 0 });
      return {
        fill(n) {
          for (let failed = 0; failed < (n % 10 === 0 ? 100 : 1); failed++) attempts.failed(address(n));
        },
      };
    },
  },
  {
    rows: ["rate limits"],
    count: 105_000,
    open() {
      const limiter = openRateLimiter({ now: () => 0, report: () => {} });
      const policy = { intervalSeconds: 60, key: "ip", store: undefined } as const;
      return {
        fill: (n) =>
          limiter.take(
            `GET /${"x".repeat(100)}`,
            { ...policy, max: 1 + (n % 2) },
            { address: address(n), username: "" },
          ),
      };
    },
  },
  {
    rows: ["MCP sessions", "resources that MCP sessions watch"],
    count: 24_000,
    open() {
      let ids = 0;
      const sessions = openSessions({ now: () => 0, randomId: () => `session ${ids++}`.padEnd(36) });
      return {
        fill(n) {
          const session = sessions.open({ owner: "", client: address(n % 100) });
          for (let index = 0; index < MAX_SUBSCRIPTIONS; index++) {
            if (!sessions.subscribe(session, long(n * MAX_SUBSCRIPTIONS + index, MAX_SUBSCRIBED_URI_LENGTH))) return;
          }
        },
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
  {
    rows: ["results of MCP tasks"],
    count: 1_000,
    open() {
      const store = memoryTaskStore();
      const task = { owner: "", createdAt: 0, updatedAt: 0, ttlMs: 1, pollIntervalMs: 1 };
      return {
        async fill(n) {
          const state = { kind: "completed", result: long(n, 100_000) } as const;
          await store.save({ ...task, id: String(n), client: address(n % 50), state });
        },
      };
    },
  },
  {
    rows: ["audit lines that wait for the disk"],
    count: 20_000,
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "eider-audit-"));
      const file = await openAppendedFile(join(folder, "audit.log"), () => {});
      // What was open is written no more: the path leads nowhere.
      await rm(folder, { recursive: true });
      return {
        fill: (n) => file.append(`${long(n, 500)}\n`),
        [Symbol.asyncDispose]: () => file.close(),
      };
    },
  },
];

const MEMORY = "Memory that clients can fill";
const page = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");
const table = tablesOf(page).find(({ section, header }) => section === MEMORY && header[0] === "Kept");
const bounds = new Map(table?.rows.map(([name = "", bound = ""]) => [name, Number(/^(\d+) MiB/.exec(bound)?.[1])]));
/** Tested elsewhere. */
const elsewhere = ["idempotency keys"];

test("every row of the documentation is filled here, and nothing else", () => {
  expect([...bounds.keys()].sort()).toEqual([...stores.flatMap(({ rows }) => rows), ...elsewhere].sort());
  expect([...bounds.values()].every((bound) => bound > 0)).toBe(true);
});

test.each(stores.map((store) => [store.rows.join(", "), store] as const))(
  "memory levels off: %s",
  async (_, { rows, count, open }) => {
    const bound = rows.reduce((sum, row) => sum + (bounds.get(row) ?? Number.NaN), 0) * MIB;
    await using filling = { [Symbol.asyncDispose]: async () => {}, ...(await open()) };
    // What the first ones load and compile is not what they leave.
    for (let n = 0; n < 2; n++) await filling.fill(n);
    const before = await heldBytes();
    const fillAndMeasure = async (from: number, to: number): Promise<number> => {
      for (let n = from; n < to; n++) await filling.fill(n);
      return (await heldBytes()) - before;
    };
    const first = await fillAndMeasure(2, 2 + count);
    // Kept as well, it would be half as much again.
    const second = await fillAndMeasure(2 + count, 2 + count * 1.5);
    // It really is filled.
    expect(first).toBeGreaterThan(bound / 8);
    expect(first).toBeLessThan(bound + NOISE);
    expect(second).toBeLessThan(bound + NOISE);
    expect(second - first).toBeLessThan(bound / 8 + NOISE / 2);
  },
);

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
  await heldBytes();
  const before = process.memoryUsage().rss;
  for (let n = 5; n < 45; n++) await read(n);
  await heldBytes();
  // With them, 40 statements take 190 MB.
  expect(process.memoryUsage().rss - before).toBeLessThan(95_000_000);
});
