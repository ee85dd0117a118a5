import { afterAll, beforeAll, expect, test } from "vitest";
import { type McpProgram, modernBody, modernHeaders, startMcp } from "../mcp-program.ts";
import { TASKS_META } from "../mcp-server.ts";

/** Many calls at once, of the real program; how fast it is, bench/mcp.mjs says. EIDER_TEST_FULL=1 takes the number of the acceptance list. */
const MANY = process.env["EIDER_TEST_FULL"] === "1" ? 5_000 : 800;
let program: McpProgram;
beforeAll(async () => {
  program = await startMcp();
});
afterAll(() => program[Symbol.asyncDispose]());

/** So many calls, so many at a time. */
async function calls(count: number, concurrency: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await call(index);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const customer = async (index: number): Promise<void> => {
  const id = 1 + (index % 3);
  const ask = index % 2 === 0 ? program.modern : program.legacy;
  const { status, message } = await ask("tools/call", { name: "find_customer", arguments: { id } });
  expect([status, message?.result?.["structuredContent"].rows[0].id]).toEqual([200, id]);
};

test("A22 queries that take long keep nobody from the short ones", async () => {
  const stop = new AbortController();
  const long = { name: "wait", arguments: { ms: 50_000 } };
  const body = JSON.stringify(modernBody("tools/call", long));
  const sent = { method: "POST", headers: modernHeaders("tools/call", long), body, signal: stop.signal };
  const slow = fetch(program.mcp, sent).then(
    () => "answered",
    () => "left",
  );
  await program.untilRunning(1);
  await calls(100, 8, customer);
  // A hundred calls are answered while the long one runs: they did not wait for it.
  expect(await program.metric("eider_queries_running")).toBe(1);
  stop.abort();
  expect(await slow).toBe("left");
  await program.untilRunning(0);
});

test("A37 many calls, sixteen at a time: each gets its own answer", async () => {
  await calls(MANY, 16, customer);
  expect(await program.metric("eider_queries_running")).toBe(0);
  expect(program.stderr()).toBe("");
});

test("A37 calls that are left, that fail and that become tasks leave nothing behind", async () => {
  const long = { name: "wait", arguments: { ms: 50_000 } };
  await calls(80, 4, async (index) => {
    switch (index % 4) {
      case 0: {
        const body = JSON.stringify(modernBody("tools/call", long));
        const signal = AbortSignal.timeout(50);
        const sent = { method: "POST", headers: modernHeaders("tools/call", long), body, signal };
        const answer = await fetch(program.mcp, sent).then(
          (got) => got.text(),
          () => "left",
        );
        expect(answer).toBe("left");
        break;
      }
      case 1:
        expect((await program.call("test_error_handling"))["isError"]).toBe(true);
        break;
      case 2: {
        const short = { name: "wait", arguments: { ms: 400 }, _meta: TASKS_META };
        expect((await program.modern("tools/call", short)).status).toBe(200);
        break;
      }
      default:
        await customer(index);
    }
  });
  await program.untilRunning(0);
  expect(await program.health()).toMatchObject({ status: "ok", streams: 0 });
});
