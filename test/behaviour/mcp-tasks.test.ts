import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Json,
  type McpProgram,
  type McpResponse,
  mcpFixture,
  type SentHeaders,
  startMcp,
} from "../mcp-program.ts";
import { TASKS_META } from "../mcp-server.ts";
import { until } from "../until.ts";

/** Calls that take long, of the real program. The numbers are those of the acceptance list. */
let program: McpProgram;
beforeAll(async () => {
  const auth = `  auth:
    type: bearer
    tokens:
      - { token: the-token-of-ann-which-is-long-enough, username: ann }
      - { token: the-token-of-ben-which-is-long-enough, username: ben }
`;
  program = await startMcp({ ...mcpFixture, "eider.yaml": mcpFixture["eider.yaml"] + auth });
});
afterAll(() => program[Symbol.asyncDispose]());

const ann = { Authorization: "Bearer the-token-of-ann-which-is-long-enough" };
const ben = { Authorization: "Bearer the-token-of-ben-which-is-long-enough" };

/** A client that knows tasks. */
const ask = (method: string, params: object, headers: SentHeaders = ann): Promise<McpResponse> =>
  program.modern(method, { _meta: TASKS_META, ...params }, headers);

async function begin(name: string, args: object): Promise<Json> {
  const { message } = await ask("tools/call", { name, arguments: args });
  return message?.result ?? {};
}

async function taskOf(taskId: string): Promise<Json> {
  return (await ask("tasks/get", { taskId })).message?.result ?? {};
}

const ended = (taskId: string): Promise<Json> =>
  until("the end of the task", async () => {
    const task = await taskOf(taskId);
    return task["status"] !== "working" && task;
  });

test("A24 a task is flat, is there at once, and ends with what the call would have given", async () => {
  const { _meta, ...task } = await begin("wait", { ms: 3000 });
  expect(task).toEqual({
    resultType: "task",
    taskId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    status: "working",
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    lastUpdatedAt: expect.any(String),
    ttlMs: 900_000,
    pollIntervalMs: 50,
  });
  expect((await taskOf(task["taskId"]))["status"]).toBe("working");
  const done = await ended(task["taskId"]);
  expect(done).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { isError: false, structuredContent: { rows: [{ waited: 3000, slept: null }], row_count: 1 } },
  });
  expect(done["result"].taskId).toBeUndefined();
});

test("A24 whose task it is, is asked every time; to others it does not exist", async () => {
  const { taskId } = await begin("wait", { ms: 30_000 });
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const { status, message } = await ask(method, { taskId }, ben);
    expect([method, status, message?.error]).toEqual([method, 200, { code: -32602, message: "Task not found" }]);
    expect((await program.modern(method, { taskId, _meta: TASKS_META })).status).toBe(401);
  }
  expect((await taskOf(taskId))["status"]).toBe("working");
  expect((await ask("tasks/get", { taskId: "none" })).message?.error?.code).toBe(-32602);

  await program.untilRunning(1);
  const { message } = await ask("tasks/cancel", { taskId });
  expect(message?.result).toMatchObject({ resultType: "complete" });
  expect(message?.result?.["status"]).toBeUndefined();
  await program.untilRunning(0);
  expect((await taskOf(taskId))["status"]).toBe("cancelled");
});

test("A24 a client that did not say that it knows tasks has none to ask for", async () => {
  const { status, message } = await program.modern("tasks/get", { taskId: "x" }, ann);
  expect([status, message?.error]).toMatchObject([400, { code: -32021, data: { requiredCapabilities: {} } }]);
});

test("A25 who does not know tasks waits, over both eras", async () => {
  for (const call of [program.modern, program.legacy]) {
    const { message } = await call("tools/call", { name: "wait", arguments: { ms: 700 } }, ann);
    expect(message?.result).toMatchObject({ structuredContent: { rows: [{ waited: 700 }] } });
    expect(message?.result?.["taskId"]).toBeUndefined();
  }
});

test("A25 a call that ends in time needs no task", async () => {
  const main = mcpFixture["eider.yaml"]?.replace("after-ms: 300", "after-ms: 600000") ?? "";
  expect(main).toContain("after-ms: 600000");
  await using own = await startMcp({ ...mcpFixture, "eider.yaml": main });
  const params = { name: "find_customer", arguments: { id: 1 }, _meta: TASKS_META };
  const { message } = await own.modern("tools/call", params);
  expect(message?.result).toMatchObject({ resultType: "complete", isError: false });
});

test("a client that disconnected from a call that became a task finds it later; a failed tool completes its task", async () => {
  const { taskId } = await begin("failing_job", {});
  expect(await ended(taskId)).toMatchObject({
    status: "completed",
    result: { isError: true, content: [{ type: "text", text: expect.stringContaining("the job failed") }] },
  });
});

test("a write that became a task runs once, and its transaction is whole", async () => {
  const files = {
    "eider.yaml":
      "http-port: 0\nmetrics: { public: true }\nmcp: { port: 0, tasks: { after-ms: 100 } }\nconnections: { db: { init: CREATE TABLE t (a INT) } }\n",
    "w.yaml": "mcp-tool: { name: add, description: x }\nmethod: POST\ntemplate-source: w.sql\nconnection: db\n",
    "w.sql": "INSERT INTO t SELECT 1 WHERE sleep_ms(800) IS NULL; INSERT INTO t VALUES (2)",
    "r.yaml": "mcp-tool: { name: read, description: x }\ntemplate-source: r.sql\nconnection: db\n",
    "r.sql": "SELECT a FROM t",
  };
  await using own = await startMcp(files);
  const rows = async (): Promise<unknown> => (await own.call("read"))["structuredContent"].rows;
  const began = await own.modern("tools/call", { name: "add", _meta: TASKS_META });
  expect(began.message?.result).toMatchObject({ resultType: "task", status: "working" });
  expect(await rows()).toEqual([]);
  const taskId = began.message?.result?.["taskId"];
  const done = await until("the end", async () => {
    const { message } = await own.modern("tasks/get", { taskId, _meta: TASKS_META });
    return message?.result?.["status"] === "completed" && message.result;
  });
  expect(done["result"].structuredContent).toEqual({ rows_affected: 2 });
  expect(await rows()).toEqual([{ a: 1 }, { a: 2 }]);

  const again = await own.modern("tools/call", { name: "add", _meta: TASKS_META });
  const id = again.message?.result?.["taskId"];
  await own.modern("tasks/cancel", { taskId: id, _meta: TASKS_META });
  await own.untilRunning(0);
  expect(await rows()).toEqual([{ a: 1 }, { a: 2 }]);
});
