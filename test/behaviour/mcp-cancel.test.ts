import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type McpProgram, modernBody, modernHeaders, startMcp } from "../mcp-program.ts";

/** How a call is called off, of the real program. The numbers are those of the acceptance list. */
let program: McpProgram;
beforeAll(async () => {
  program = await startMcp();
});
afterAll(() => program[Symbol.asyncDispose]());

const LONG = { name: "wait", arguments: { ms: 600_000 } };

/** A POST whose sender may leave. */
function leaving(body: unknown, headers: Readonly<Record<string, string>>): { leave(): void } {
  const asking = request(program.mcp, { method: "POST", headers: { "Content-Type": "application/json", ...headers } });
  asking.on("error", () => {});
  asking.end(JSON.stringify(body));
  return { leave: () => asking.destroy() };
}

test("A20 a modern client that disconnects ends its query; the next call is answered at once", async () => {
  const call = leaving(modernBody("tools/call", LONG), modernHeaders("tools/call", LONG));
  await program.untilRunning(1);
  call.leave();
  await program.untilRunning(0);
  expect((await program.call("find_customer", { id: 1 }))["isError"]).toBe(false);
});

test("A20 a stream with progress is left in the same way", async () => {
  const params = { ...LONG, _meta: { ...meta(), progressToken: "p" } };
  const call = leaving(modernBody("tools/call", params), modernHeaders("tools/call", params));
  await program.untilRunning(1);
  call.leave();
  await program.untilRunning(0);
});

test("A20 a resource that takes long is left in the same way", async () => {
  const before = await program.metric("eider_queries_running");
  expect(before).toBe(0);
  const params = { uri: "test://wait/600000" };
  const call = leaving(modernBody("resources/read", params), modernHeaders("resources/read", params));
  await program.untilRunning(1);
  call.leave();
  await program.untilRunning(0);
});

test("A21 of the old era: leaving is no cancellation, a notification is", async () => {
  const body = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: LONG });
  const cancel = (id: number) => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: id, reason: "no longer" },
  });
  const gone = leaving(body(71), {});
  await program.untilRunning(1);
  gone.leave();
  // It still runs when other calls have come and gone.
  for (let index = 0; index < 20; index++) await program.call("find_customer", { id: 1 });
  expect(await program.metric("eider_queries_running")).toBe(1);
  const answer = await program.post(cancel(71));
  expect([answer.status, answer.text]).toEqual([202, ""]);
  await program.untilRunning(0);
});

test("A21 a call that is called off is answered with nothing that could be taken for a result", async () => {
  const called = program.post({ jsonrpc: "2.0", id: "c", method: "tools/call", params: LONG });
  await program.untilRunning(1);
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } };
  expect((await program.post(cancel)).status).toBe(202);
  const { message } = await called;
  expect(message).toEqual({ jsonrpc: "2.0", id: "c", error: { code: 499, message: "Request cancelled" } });
  await program.untilRunning(0);
});

test("A21 with a session, only its own calls can be called off", async () => {
  const initialize = async (): Promise<string> => {
    const { headers } = await program.legacy("initialize", { protocolVersion: "2025-11-25", capabilities: {} });
    return headers.get("mcp-session-id") ?? "";
  };
  const [mine, other] = [await initialize(), await initialize()];
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  const called = program.legacy("tools/call", LONG, { "Mcp-Session-Id": mine });
  await program.untilRunning(1);
  await program.post(cancel, { "Mcp-Session-Id": other });
  await program.post(cancel);
  expect(await program.metric("eider_queries_running")).toBe(1);
  await program.post(cancel, { "Mcp-Session-Id": mine });
  expect((await called).message?.error?.code).toBe(499);
});

function meta(): object {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
}
