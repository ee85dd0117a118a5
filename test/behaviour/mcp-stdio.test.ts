import { expect, test } from "vitest";
import { type Json, modernBody, type RpcMessage } from "../mcp-program.ts";
import { type Files, type Program, start, startHere } from "../process/program.ts";
import { until } from "../until.ts";

/** `eider mcp`: one client at the other end of two pipes. The numbers are those of the acceptance list. */

const OWN_AUTH = "auth: { type: basic, users: [{ username: ann, password: secret-of-ann }] }\n";

function tool(name: string, sql: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `mcp-tool: { name: ${name}, description: x }\ntemplate-source: ${name}.sql\nconnection: memory\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const FILES: Files = {
  "eider.yaml": "connections: { memory: {} }\nlog: { level: debug }\naudit: { sink: stdout }\n",
  ...tool("one", "SELECT 1 AS a"),
  ...tool("fails", "SELECT error('no') AS a"),
  ...tool("who", "SELECT '{{auth.username}}' AS name, '{{auth.roles}}' AS roles"),
  ...tool("guarded", "SELECT '{{auth.username}}' AS name", OWN_AUTH),
  "page.yaml": `mcp-resource: { name: guarded, description: x }\ntemplate-source: guarded.sql\nconnection: memory\n${OWN_AUTH}`,
  "prompt.yaml": `mcp-prompt: { name: guarded, description: x, template: secret }\n${OWN_AUTH}`,
};

const MCP = { args: ["mcp"], input: "pipe" } as const;

function open(files: Files = FILES): Promise<Program> {
  return start(files, MCP);
}

const linesOf = (program: Program): readonly RpcMessage[] =>
  program
    .stdout()
    .split("\n")
    .slice(0, -1)
    .map((line): RpcMessage => JSON.parse(line));

/** The answer to one request. */
async function ask(program: Program, request: Json): Promise<RpcMessage> {
  program.send(`${JSON.stringify(request)}\n`);
  return await until(`an answer to ${request["id"]}`, () => linesOf(program).find(({ id }) => id === request["id"]));
}

const call = (id: number, name: string): Json => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });

test("A35 nothing but lines of JSON comes out, and the end of the input ends the program", async () => {
  await using program = await open();
  program.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\nnonsense\n');
  expect((await ask(program, modernBody("server/discover", {}, 1) as Json)).result).toMatchObject({
    supportedVersions: ["2026-07-28"],
  });
  const began = { jsonrpc: "2.0", id: 2, method: "initialize", params: { protocolVersion: "2025-06-18" } };
  expect((await ask(program, began)).result).toMatchObject({ protocolVersion: "2025-06-18" });
  expect((await ask(program, call(3, "one"))).result).toMatchObject({ structuredContent: { rows: [{ a: 1 }] } });
  expect((await ask(program, call(4, "fails"))).result).toMatchObject({ isError: true });
  expect((await ask(program, modernBody("tools/call", { name: "one" }, 5) as Json)).result).toMatchObject({
    resultType: "complete",
  });
  // The last one needs no end of its line.
  program.send(JSON.stringify(call(6, "one")));
  program.endInput();
  expect(await program.exited).toEqual({ code: 0, signal: null });
  const [told, answers] = [
    linesOf(program).filter(({ method }) => method),
    linesOf(program).filter(({ method }) => !method),
  ];
  expect(answers.map(({ id, error }) => id ?? error?.code)).toEqual([-32700, 1, 2, 3, 4, 5, 6]);
  // Messages for the log of the client are sent only to one that asks for them.
  expect(told).toEqual([]);
  // The log and the audit are told elsewhere.
  expect(program.stderr()).toContain("query failed");
  expect(program.stderr()).toContain('"endpoint":"mcp-tool one"');
});

test("A35 SIGTERM ends it while it waits, and while a query runs", async () => {
  await using idle = await open();
  await ask(idle, call(1, "one"));
  idle.signal("SIGTERM");
  expect(await idle.exited).toEqual({ code: 0, signal: null });
  await using busy = await open({ ...FILES, ...tool("long", "SELECT sleep_ms(60000) AS a") });
  await ask(busy, call(1, "one"));
  busy.send(`${JSON.stringify(call(2, "long"))}\n`);
  await ask(busy, { jsonrpc: "2.0", id: 3, method: "ping" });
  busy.signal("SIGTERM");
  expect(await busy.exited).toEqual({ code: 0, signal: null });
});

test("A35 a project with a problem is told on standard error, and the program ends", async () => {
  await using program = await startHere({ ...FILES, "one.sql": "SELECT 1 AS" }, MCP);
  expect(await program.exited).toEqual({ code: 1, signal: null });
  expect([program.stdout(), program.stderr()]).toEqual(["", expect.stringContaining("one.sql:1:")]);
});

test("no password is needed here, whatever mcp.auth says; the identity is anonymous", async () => {
  const auth = "mcp: { auth: { type: bearer, token: a-token-that-is-long-enough-to-be-one } }\n";
  await using program = await startHere({ ...FILES, "eider.yaml": FILES["eider.yaml"] + auth }, MCP);
  expect((await ask(program, call(1, "who"))).result?.["structuredContent"].rows).toEqual([{ name: "", roles: "" }]);
});

test("an endpoint with an auth block is refused to nobody, as tool, resource and prompt", async () => {
  await using program = await startHere(FILES, MCP);
  const asked: readonly Json[] = [
    call(1, "guarded"),
    modernBody("tools/call", { name: "guarded" }, 2) as Json,
    { jsonrpc: "2.0", id: 3, method: "resources/read", params: { uri: "eider://guarded" } },
    { jsonrpc: "2.0", id: 4, method: "prompts/get", params: { name: "guarded" } },
  ];
  for (const request of asked) {
    const { id, error, result } = await ask(program, request);
    expect([id, error, result]).toEqual([id, { code: 401, message: "Unauthorized" }, undefined]);
  }
  program.send(`${JSON.stringify([call(5, "one"), call(6, "guarded")])}\n`);
  const batch = await until("the batch", () => linesOf(program).find((line) => Array.isArray(line)));
  expect(JSON.stringify(batch)).not.toContain('"name":""');
  expect(JSON.stringify(batch)).toContain('"code":401');
});

test("who the environment names is who calls, and counts as authenticated", async () => {
  const env = { EIDER_MCP_USERNAME: "zoe", EIDER_MCP_ROLES: "reader,,writer%2Ceditor" };
  await using program = await startHere(FILES, { ...MCP, env });
  expect((await ask(program, call(1, "who"))).result?.["structuredContent"].rows).toEqual([
    { name: "zoe", roles: "reader,writer%2Ceditor" },
  ]);
  expect((await ask(program, call(2, "guarded"))).result?.["structuredContent"].rows).toEqual([{ name: "zoe" }]);
});
