import { expect, test } from "vitest";
import { freePort, type Json, mcpFixture, sharedMcp, startMcp, startMcpHere } from "../mcp-program.ts";
import { MODERN_META } from "../mcp-server.ts";
import { type Files, start, startHere } from "../process/program.ts";
import { until } from "../until.ts";

/** A project with MCP on a port of its own, from the main file's further lines. */
function project(main: string, endpoints: Files = {}): Files {
  return { "eider.yaml": `http-port: 0\nconnections: { memory: {} }\n${main}`, ...endpoints };
}

function tool(name: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${name}.yaml`]: `mcp-tool: { name: ${name}, description: About ${name} }\ntemplate-source: ${name}.sql\nconnection: memory\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const shared = sharedMcp();

test("A29 250 tools are three pages, each tool on one of them; a cursor that is none is refused", async () => {
  const many = Array.from({ length: 250 }, (_, index) => tool(`tool_${index}`, "SELECT 1 AS a"));
  await using program = await startMcpHere(project("mcp: { port: 0 }\n", Object.assign({}, ...many)));
  for (const ask of [program.modern, program.legacy]) {
    const sizes: number[] = [];
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { message } = await ask("tools/list", cursor === undefined ? {} : { cursor });
      const tools: readonly Json[] = message?.result?.["tools"];
      sizes.push(tools.length);
      names.push(...tools.map(({ name }) => name));
      cursor = message?.result?.["nextCursor"];
    } while (cursor !== undefined);
    expect(sizes).toEqual([100, 100, 50]);
    expect(new Set(names).size).toBe(250);
    expect(names).toEqual(names.toSorted());
    for (const bad of ["garbage", "", 7, "e30="]) {
      const { status, message } = await ask("tools/list", { cursor: bad });
      expect([bad, status, message?.error?.code]).toEqual([bad, 200, -32602]);
    }
  }
});

test("A36 MCP answers on its own port, and REST knows nothing of it", async () => {
  const program = await shared();
  expect(new URL(program.mcp).port).not.toBe(new URL(program.rest).port);
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
  for (const path of ["/mcp", "/mcp/jsonrpc", "/mcp/health"]) {
    expect([path, (await fetch(program.rest + path, init)).status]).toEqual([path, 404]);
  }
  // And MCP nothing of REST.
  expect((await fetch(new URL("/customers", program.mcp))).status).toBe(404);
  expect((await fetch(`${program.rest}/customers`)).status).toBe(200);
});

test("A36 without an mcp block, or with one that is off, nothing listens", async () => {
  for (const main of ["", "mcp: { enabled: false, port: 0 }\n"]) {
    await using program = await startHere(project(main, tool("one", "SELECT 1 AS a")));
    const url = await program.url();
    expect((await fetch(`${url}/mcp`, { method: "POST" })).status).toBe(404);
    expect(program.stdout()).toBe(`REST listening on ${url}\n`);
  }
});

test("A36 one port for both: MCP is mounted at its paths, REST has the others", async () => {
  const port = await freePort();
  const files = project("", tool("one", "SELECT 1 AS a", "url-path: /one\nwith-pagination: false\n"));
  const main = files["eider.yaml"]?.replace("http-port: 0", `http-port: ${port}`);
  await using program = await startMcpHere({ ...files, "eider.yaml": `${main}mcp: { port: ${port} }\n` });
  expect(program.mcp).toBe(`${program.rest}/mcp`);
  expect((await program.call("one"))["structuredContent"].rows).toEqual([{ a: 1 }]);
  expect((await program.legacy("ping")).status).toBe(200);
  expect(await (await fetch(`${program.rest}/one`)).json()).toEqual([{ a: 1 }]);
  expect((await fetch(`${program.rest}/health`)).status).toBe(200);
  expect((await fetch(`${program.rest}/nothing`, { method: "POST" })).status).toBe(404);
});

test("a port that is taken is told, and nothing is left open", async () => {
  const first = await shared();
  const { port } = new URL(first.mcp);
  await using second = await start(project(`mcp: { port: ${port} }\n`));
  expect(await second.exited).toEqual({ code: 3, signal: null });
  expect(second.stderr()).toContain(port);
});

test("A39 the trace context of a call stands in its line of the log, whether it works or not", async () => {
  const main = `http-port: 0\nmcp: { port: 0 }\nconnections: { memory: { log-queries: true } }\n`;
  const tools = { ...tool("works", "SELECT 1 AS a"), ...tool("fails", "SELECT error('no') AS a") };
  await using program = await startMcpHere({ "eider.yaml": main, ...tools });
  const call = async (name: string, traceparent: string): Promise<void> => {
    await program.modern("tools/call", { name, _meta: { ...MODERN_META, traceparent } });
    const lines = await until(`the line of ${name}`, () => {
      const found = program.stderr().match(new RegExp(`^.*"endpoint":"mcp-tool ${name}".*$`, "m"));
      return found?.map((line): Json => JSON.parse(line));
    });
    expect(lines).toMatchObject([{ endpoint: `mcp-tool ${name}`, traceparent }]);
  };
  await call("works", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  await call("fails", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
  // Whatever else somebody sends there is not for the log.
  await program.modern("tools/call", { name: "works", _meta: { ...MODERN_META, traceparent: "spam\nspam" } });
  expect(program.stderr()).not.toContain("spam");
});

test("SIGTERM ends streams as the protocol has it, and calls come to their end", async () => {
  await using program = await startMcp(mcpFixture);
  const listening = program.modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
  await program.untilStreams(1);
  const call = program.call("wait", { ms: 1000 });
  await program.untilRunning(1);
  program.signal("SIGTERM");
  const { message, notices } = await listening;
  expect(notices.map(({ method }) => method)).toEqual(["notifications/subscriptions/acknowledged"]);
  expect(message).toMatchObject({
    id: 1,
    result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": 1 } },
  });
  expect((await call)["isError"]).toBe(false);
  expect(await program.exited).toEqual({ code: 0, signal: null });
});
