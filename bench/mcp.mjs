// MCP: a look-up as a tool and over REST, the protocol compared to a bare server and the official SDK, long lists, stdio start.
//   npm run build && node bench/mcp.mjs
// EIDER_TEST_MCP_TOOLS names a folder with `node_modules/@modelcontextprotocol/server`; without it, the SDK is skipped.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { cpuOf, folderOf, load, median, root, start, startBoth, tableSql } from "./load.mjs";

const ROUNDS = 7;
const CLIENTS = 16;
const REQUESTS = 2000;
const TOOLS = 500;
const self = fileURLToPath(import.meta.url);
const sdk = join(process.env.EIDER_TEST_MCP_TOOLS ?? "/nonexistent", "node_modules/@modelcontextprotocol");

/** A request in the newest protocol version, and its headers. */
const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`;
const modern = (method, params = "") =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}${params && ","}${META}}}`;
const headersOf = (method, name) =>
  `Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${name ? `Mcp-Name: ${name}\r\n` : ""}`;
const GREET = modern("tools/call", '"name":"greet","arguments":{"name":"Ann"}');
const RESULT = '{"content":[{"type":"text","text":"Hello, Ann!"}],"isError":false}';

const servers = { bare, core, sdk: official };
if (process.argv[2] in servers) await servers[process.argv[2]]();
else await compare();

/** A server that only parses JSON and returns JSON. */
async function bare() {
  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const { id } = JSON.parse(Buffer.concat(pieces).toString());
      const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${RESULT}}`;
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

/** Eider's MCP server with a tool that does nothing: no project, no database. */
async function core() {
  const { openMcpServer } = await import("../dist/mcp/open-mcp-server.js");
  const { listen } = await import("../dist/http/listen.js");
  const { defaultMcpSettings } = await import("../dist/config/mcp-config.js");
  const definition = { name: "greet", inputSchema: { type: "object", properties: { name: { type: "string" } } } };
  const server = openMcpServer({
    service: {
      serverInfo: { name: "bench", title: "bench", version: "1" },
      instructions: undefined,
      lists: { tools: [JSON.stringify(definition)], resources: [], templates: [], prompts: [] },
      callTool: async (_name, args) => ({
        content: `[{"type":"text","text":"Hello, ${args.get("name").text}!"}]`,
        structuredContent: undefined,
        isError: false,
      }),
    },
    gate: { admit: () => ({ kind: "identity", identity: new Map() }) },
    settings: { ...defaultMcpSettings, tasks: undefined },
    report: console.error,
    now: () => performance.now(),
    after: (ms, work) => clearTimeout.bind(undefined, setTimeout(work, ms)),
    randomId: () => crypto.randomUUID(),
    proxies: { isTrusted: () => false },
  });
  const { url } = await listen({ host: "127.0.0.1", port: 0, handle: server.handle });
  console.log(url);
}

/** The same tool on the low-level API of the official SDK. */
async function official() {
  const { createMcpHandler, Server } = await import(pathToFileURL(join(sdk, "server/dist/index.mjs")));
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/call", ({ params }) => ({
      content: [{ type: "text", text: `Hello, ${params.arguments.name}!` }],
    }));
    return server;
  });
  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", async () => {
      const { method, headers, url } = request;
      const asked = new Request(`http://${headers.host}${url}`, { method, headers, body: Buffer.concat(pieces) });
      const answer = await handler.fetch(asked);
      const body = Buffer.from(await answer.arrayBuffer());
      response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), "content-length": body.length });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

async function measured(server, url, options) {
  const before = server.cpu();
  const { perSecond } = await load(url, { clients: CLIENTS, requests: REQUESTS, host: "127.0.0.1", ...options });
  return { perSecond, cpu: ((server.cpu() - before) * 1000) / REQUESTS };
}

async function compare() {
  await lookUps();
  await protocol();
  await lists();
  await firstAnswer();
  process.exit();
}

/** Every call requests another row, because the REST response cache would serve repeated requests. */
async function lookUps() {
  const folder = folderOf({
    "eider.yaml": `mcp: { port: 0 }\nlog: { level: error }\nconnections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
    "t.yaml":
      "url-path: /t/:id\nmcp-tool: { name: find, description: A row by its key }\nwith-pagination: false\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n",
    "t.sql": "SELECT * FROM t WHERE id = {{params.id}}",
  });
  const eider = await startBoth(folder);
  let asked = 0;
  const key = () => (asked++ * 7919) % 1_000_000;
  const find = () => `"name":"find","arguments":{"id":${key()}}`;
  const ways = {
    REST: () => measured(eider, eider.url, { path: () => `/t/${key()}` }),
    "MCP, new era": () =>
      measured(eider, eider.mcp, {
        path: () => "/mcp",
        body: () => modern("tools/call", find()),
        headers: headersOf("tools/call", "find"),
      }),
    "MCP, old era": () =>
      measured(eider, eider.mcp, {
        path: () => "/mcp",
        body: () => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${find()}}}`,
      }),
  };
  const of = await rounds(ways);
  show("point look-up, 1,000,000 rows x 8 columns", ways, of);
  const ratio = (name) => of((r) => r[name].cpu / r.REST.cpu).toFixed(2);
  console.log(
    `CPU, tools/call / REST: ${ratio("MCP, new era")} in the new era, ${ratio("MCP, old era")} in the old one (goal: at most 1.30)`,
  );
  await eider.stop();
}

async function protocol() {
  const hasSdk = existsSync(join(sdk, "server"));
  const names = ["bare", "core", ...(hasSdk ? ["sdk"] : [])];
  const started = await Promise.all(names.map((name) => start([self, name], { cwd: root })));
  const ways = Object.fromEntries(
    names.map((name, index) => [
      name,
      () =>
        measured(started[index], started[index].url, {
          requests: name === "sdk" ? REQUESTS / 4 : REQUESTS * 2,
          path: () => "/mcp",
          body: () => GREET,
          headers: headersOf("tools/call", "greet"),
        }),
    ]),
  );
  const of = await rounds(ways);
  show("a tool that does nothing: bare node:http + JSON.parse, our protocol, the official SDK", ways, of, ["req/s"]);
  const against = (name) => of((r) => r.core.perSecond / r[name].perSecond).toFixed(2);
  console.log(`requests/s, our protocol / bare: ${against("bare")} (goal: at least 0.50)`);
  console.log(
    hasSdk
      ? `requests/s, our protocol / SDK: ${against("sdk")} (goal: at least 5)`
      : "the SDK was left out: EIDER_TEST_MCP_TOOLS names no folder that has it",
  );
  for (const server of started) await server.stop();
}

async function lists() {
  const files = {
    "eider.yaml": `mcp: { port: 0, page-size: ${TOOLS} }\nlog: { level: error }\nconnections: { m: {} }\n`,
  };
  for (let index = 0; index < TOOLS; index++) {
    files[`t${index}.yaml`] =
      `mcp-tool: { name: tool_${index}, description: The tool with the number ${index} }\ntemplate-source: t.sql\nconnection: m\nrequest:\n  - { field-name: id, field-in: query, validators: [{ type: int }] }\n`;
  }
  files["t.sql"] = "SELECT 1 AS id, 'x' AS name";
  const eider = await startBoth(folderOf(files));
  const whole = await fetch(`${eider.mcp}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  const bytes = (await whole.arrayBuffer()).byteLength;
  const listing = (method) => () =>
    measured(eider, eider.mcp, { path: () => "/mcp", body: () => modern(method), headers: headersOf(method) });
  const ways = { [`tools/list of ${TOOLS}`]: listing("tools/list"), "prompts/list of none": listing("prompts/list") };
  const of = await rounds(ways);
  show(`lists; ${TOOLS} tools are ${(bytes / 1024).toFixed(0)} KiB`, ways, of);
  await eider.stop();
}

/** From the start of the program to its first line: how long a client that starts it waits. */
async function firstAnswer() {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const args = [join(root, "bin/eider.cjs"), "mcp", "--config", join(root, "examples/quickstart/eider.yaml")];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.write(`${modern("server/discover")}\n`);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    times.push({ ms: performance.now() - began, cpu: cpuOf(child.pid) });
    child.stdin.end();
    await new Promise((resolve) => child.once("exit", resolve));
  }
  const of = (pick) => median(times.map(pick)).toFixed(0);
  console.log(
    `first answer of 'eider mcp' for the quickstart: ${of(({ ms }) => ms)} ms, CPU ${of(({ cpu }) => cpu)} ms, median of ${ROUNDS} (goal: at most 500 ms)`,
  );
}

/** Runs all variants alternately, so that noise affects all equally. Returns a function for the median of a picked number. */
async function rounds(ways) {
  const results = [];
  for (let round = -1; round < ROUNDS; round++) {
    const result = {};
    for (const [name, way] of Object.entries(ways)) result[name] = await way();
    if (round >= 0) results.push(result);
  }
  return (pick) => median(results.map(pick));
}

function show(title, ways, of, columns = ["req/s", "CPU us"]) {
  console.log(`${title}; ${CLIENTS} clients, median of ${ROUNDS} interleaved rounds`);
  const row = (name) => {
    const figures = { "req/s": of((r) => r[name].perSecond) | 0, "CPU us": of((r) => r[name].cpu) | 0 };
    return Object.fromEntries(columns.map((column) => [column, figures[column]]));
  };
  console.table(Object.fromEntries(Object.keys(ways).map((name) => [name, row(name)])));
}
