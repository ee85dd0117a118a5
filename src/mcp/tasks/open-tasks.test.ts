import { expect, test } from "vitest";
import { accessByName, asUser } from "../../../test/mcp-access.ts";
import { readEvents } from "../../../test/mcp-events.ts";
import { testRegistry } from "../../../test/mcp-registry.ts";
import { mcpServer, mcpSettings, TASKS_META, type TestMcp, taskSettings } from "../../../test/mcp-server.ts";
import { fakeClock } from "../../../test/turned-clock.ts";
import { until } from "../../../test/until.ts";
import { type McpCall, McpError, type McpService, type ToolResult } from "../mcp-service.ts";
import { memoryTaskStore } from "./memory-store.ts";

const DONE: ToolResult = { content: "[]", structuredContent: '{"n":12345678901234567890}', isError: true };

interface Held {
  readonly call: McpCall;
  finish(result: ToolResult): void;
  fail(error: unknown): void;
}

/** A server whose calls and clock the test controls. */
async function heldServer(tasks: object = {}) {
  const clock = fakeClock();
  const calls: Held[] = [];
  const service: McpService = {
    ...testRegistry(),
    callTool: (_name, _args, call) =>
      new Promise((finish, fail) => {
        calls.push({ call, finish, fail });
        call.signal.addEventListener("abort", () => fail(call.signal.reason));
      }),
  };
  const settings = mcpSettings({ tasks: { ...taskSettings, afterMs: 5_000, ...tasks } });
  const mcp = await mcpServer({ service, settings, access: accessByName(), after: clock.after, now: clock.now });
  return { clock, calls, mcp, [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose]() };
}

interface TaskResponse {
  readonly result?: Readonly<Record<string, unknown>> & { readonly taskId?: string; readonly status?: string };
  readonly error?: { readonly code: number };
}

async function ask(mcp: TestMcp, method: string, params: object, who = "ann"): Promise<TaskResponse> {
  const response = await mcp.modern(method, { _meta: TASKS_META, ...params }, asUser(who));
  return (await response.json()) as TaskResponse;
}

const callTool = (mcp: TestMcp): Promise<TaskResponse> => ask(mcp, "tools/call", { name: "greet" });

async function begun(held: Awaited<ReturnType<typeof heldServer>>): Promise<string> {
  const count = held.calls.length;
  const pending = callTool(held.mcp);
  await until("the call", () => held.calls.length > count);
  await held.clock.advance(5_000);
  const { result } = await pending;
  expect(result).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 100 });
  return result?.taskId ?? "";
}

test("a fast call returns its result, and leaves no timer", async () => {
  await using held = await heldServer();
  const { calls, clock, mcp } = held;
  const pending = callTool(mcp);
  await until("the call", () => calls.length === 1);
  calls[0]?.finish(DONE);
  expect((await pending).result).toMatchObject({ resultType: "complete", isError: true });
  expect(clock.timers()).toBe(0);
});

test("a slow call becomes a task, whose result keeps every digit", async () => {
  await using held = await heldServer();
  const { calls, mcp } = held;
  const taskId = await begun(held);
  expect((await ask(mcp, "tasks/get", { taskId })).result).toMatchObject({
    resultType: "complete",
    taskId,
    status: "working",
  });
  expect((await ask(mcp, "tasks/update", { taskId, inputResponses: {} })).result).toMatchObject({
    resultType: "complete",
  });
  calls[0]?.finish(DONE);
  await until("the result", () => calls.length === 1);
  const response = await mcp.modern("tasks/get", { _meta: TASKS_META, taskId }, asUser("ann"));
  const text = await response.text();
  expect(text).toContain('"status":"completed"');
  expect(text).toContain('"result":{"content":[],"structuredContent":{"n":12345678901234567890},"isError":true}');
});

test("a protocol error makes the task fail", async () => {
  await using held = await heldServer();
  const taskId = await begun(held);
  held.calls[0]?.fail(new McpError({ kind: "internal", message: "broken" }));
  const { result } = await ask(held.mcp, "tasks/get", { taskId });
  expect(result).toMatchObject({
    status: "failed",
    statusMessage: "broken",
    error: { code: -32603, message: "broken" },
  });
  expect(result).not.toHaveProperty("result");
});

test("cancelling a task stops its call, is final, and may be repeated", async () => {
  await using held = await heldServer();
  const { calls, mcp } = held;
  const taskId = await begun(held);
  expect((await ask(mcp, "tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
  expect(calls[0]?.call.signal.aborted).toBe(true);
  calls[0]?.finish(DONE);
  expect((await ask(mcp, "tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
  expect((await ask(mcp, "tasks/get", { taskId })).result).toMatchObject({ status: "cancelled" });
  expect(mcp.events).toEqual([]);
});

test("a task of another identity counts as not found", async () => {
  await using held = await heldServer();
  const { calls, mcp } = held;
  const taskId = await begun(held);
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    expect([method, (await ask(mcp, method, { taskId }, "bob")).error?.code]).toEqual([method, -32602]);
    expect([method, (await ask(mcp, method, { taskId: "guess" })).error?.code]).toEqual([method, -32602]);
  }
  expect(calls[0]?.call.signal.aborted).toBe(false);
  const listening = await mcp.modern(
    "subscriptions/listen",
    { _meta: TASKS_META, notifications: { taskIds: [taskId] } },
    asUser("bob"),
  );
  expect(await readEvents(listening).next()).toMatchObject({ params: { notifications: {} } });
});

test("subscribers get the whole task when it changes", async () => {
  await using held = await heldServer();
  const { calls, mcp } = held;
  const taskId = await begun(held);
  const params = { _meta: TASKS_META, notifications: { taskIds: [taskId] } };
  const events = readEvents(await mcp.modern("subscriptions/listen", params, asUser("ann")));
  expect(await events.next()).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
  calls[0]?.finish({ ...DONE, isError: false });
  expect(await events.next()).toMatchObject({
    method: "notifications/tasks",
    params: { taskId, status: "completed", result: { isError: false } },
  });
});

test("a finished task expires, a running one does not", async () => {
  await using held = await heldServer({ ttlMs: 10_000 });
  const { calls, clock, mcp } = held;
  const [done, working] = [await begun(held), await begun(held)];
  calls[0]?.finish(DONE);
  await clock.advance(9_999);
  expect((await ask(mcp, "tasks/get", { taskId: done })).result?.status).toBe("completed");
  await clock.advance(1);
  expect((await ask(mcp, "tasks/get", { taskId: done })).error?.code).toBe(-32602);
  await clock.advance(120_000);
  expect((await ask(mcp, "tasks/get", { taskId: working })).result?.status).toBe("working");
});

test("with too many tasks, a client waits for its response", async () => {
  await using held = await heldServer({ workers: 1, queueDepth: 0 });
  const { calls, clock, mcp } = held;
  await begun(held);
  const pending = callTool(mcp);
  await until("the call", () => calls.length === 2);
  await clock.advance(60_000);
  calls[1]?.finish(DONE);
  expect((await pending).result).toMatchObject({ resultType: "complete" });
  calls[0]?.finish(DONE);
  await clock.advance(0);
  await begun(held);
});

test("queued tasks run a few at a time, and can be cancelled while they wait", async () => {
  await using held = await heldServer({ afterMs: 0, workers: 1, queueDepth: 2 });
  const { calls, clock, mcp } = held;
  const ids = [];
  for (let count = 0; count < 3; count++) ids.push((await callTool(mcp)).result?.taskId);
  await clock.advance(0);
  expect(calls).toHaveLength(1);
  await ask(mcp, "tasks/cancel", { taskId: ids[1] });
  calls[0]?.finish(DONE);
  await until("the third", () => calls.length === 2);
  const states = await Promise.all(ids.map(async (taskId) => (await ask(mcp, "tasks/get", { taskId })).result?.status));
  expect(states).toEqual(["completed", "cancelled", "working"]);
});

test("at shutdown, tasks end", async () => {
  await using held = await heldServer();
  await begun(held);
  held.mcp.server.cancelAll();
  expect(held.calls[0]?.call.signal.aborted).toBe(true);
});

test("tasks need the setting and the client's declaration", async () => {
  await using mcp = await mcpServer();
  expect((await mcp.modern("tasks/get", { _meta: TASKS_META, taskId: "x" })).status).toBe(404);
  await using held = await heldServer();
  const pending = held.mcp.modern("tools/call", { name: "greet" }, asUser("ann"));
  await until("the call", () => held.calls.length === 1);
  await held.clock.advance(60_000);
  held.calls[0]?.finish(DONE);
  expect(await (await pending).json()).toMatchObject({ result: { resultType: "complete" } });
});

test("results that are never fetched expire", async () => {
  const store = memoryTaskStore({ tasks: 2, bytes: 1_000_000, bytesPerClient: 1_000_000 });
  const task = {
    owner: "",
    client: "ann",
    createdAt: 0,
    updatedAt: 0,
    ttlMs: 1_000,
    pollIntervalMs: 1,
    state: { kind: "cancelled" },
  } as const;
  for (const id of ["a", "b", "c"]) await store.save({ ...task, id });
  expect(await Promise.all(["a", "b", "c"].map(async (id) => (await store.find(id)) !== undefined))).toEqual([
    false,
    true,
    true,
  ]);
  expect(await store.sweep(1_000)).toBe(0);
});

test("results are bounded in bytes, in total and per client; the newest is kept at any size", async () => {
  const store = memoryTaskStore({ tasks: 100, bytes: 50_000, bytesPerClient: 25_000 });
  const finish = (id: string, client: string, length: number): Promise<void> =>
    store.save({
      id,
      owner: "",
      client,
      createdAt: 0,
      updatedAt: 0,
      ttlMs: 1_000,
      pollIntervalMs: 1,
      state: { kind: "completed", result: "x".repeat(length) },
    });
  const kept = async (): Promise<string> => {
    const ids = ["a1", "b1", "b2", "b3", "b4", "c1", "d1"];
    const found = await Promise.all(ids.map((id) => store.find(id)));
    return ids.filter((_, index) => found[index] !== undefined).join(" ");
  };
  await finish("a1", "ann", 5_000);
  for (const id of ["b1", "b2", "b3", "b4"]) await finish(id, "bob", 5_000);
  expect(await kept()).toBe("a1 b3 b4");
  await finish("c1", "cid", 10_000);
  expect(await kept()).toBe("b3 b4 c1");
  await finish("d1", "dan", 100_000);
  expect(await kept()).toBe("d1");
  expect(await store.sweep(1_000)).toBe(0);
  for (const id of ["b1", "b2", "b3", "b4"]) await finish(id, "bob", 5_000);
  expect(await kept()).toBe("b3 b4");
});
