import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuthKind, authKinds, whoEndpoint, whoRow } from "../mcp-auth.ts";
import { type Json, type McpProgram, type McpResponse, type SentHeaders, startMcpHere } from "../mcp-program.ts";
import { startProvider, type TestProvider } from "../oidc-provider.ts";
import { until } from "../until.ts";

/** Who a caller is to a template, and what is counted and written down of it. The numbers are those of the acceptance list. */
let provider: TestProvider;
let kinds: ReadonlyMap<string, AuthKind>;
beforeAll(async () => {
  provider = await startProvider();
  kinds = new Map((await authKinds(provider)).map((kind) => [kind.name, kind]));
});
afterAll(() => provider[Symbol.asyncDispose]());

const kindOf = (name: string): AuthKind => kinds.get(name) ?? ({} as AuthKind);
const main = (mcp: string, more = ""): string =>
  `http-port: 0\nconnections: { db: {} }\n${more}mcp: { port: 0${mcp} }\n`;

/** Ways to the same endpoint. Each gives the rows, or the status of who is not let in. */
const ways: readonly [string, (program: McpProgram, headers: SentHeaders) => Promise<unknown>][] = [
  [
    "REST",
    async ({ rest }, headers) => {
      const answer = await fetch(`${rest}/who`, { headers });
      return answer.status === 200 ? answer.json() : answer.status;
    },
  ],
  [
    "MCP of the new era",
    async (program, headers) => rowsOf(await program.modern("tools/call", { name: "who" }, headers)),
  ],
  [
    "MCP of the old era",
    async (program, headers) => rowsOf(await program.legacy("tools/call", { name: "who" }, headers)),
  ],
];

function rowsOf({ status, message }: McpResponse): unknown {
  return message?.result?.["structuredContent"].rows ?? status;
}

describe.each(["basic", "bearer", "bearer with JWT", "oidc"])("the same block over REST and MCP: %s", (name) => {
  let program: McpProgram;
  beforeAll(async () => {
    const { block } = kindOf(name);
    program = await startMcpHere({
      "eider.yaml": main(`, auth: { ${block} }`, `auth: { ${block} }\n`),
      ...whoEndpoint("who"),
    });
  });
  afterAll(() => program[Symbol.asyncDispose]());

  test.each(ways)("A33 %s: a template sees who calls", async (_way, ask) => {
    const { ann, ben, wrong } = kindOf(name);
    const type = name.split(" ")[0] ?? "";
    expect(await ask(program, ann)).toEqual([whoRow("ann", "reader", type)]);
    expect(await ask(program, ben)).toEqual([whoRow("ben", "", type)]);
    for (const headers of [{}, ...wrong]) expect(await ask(program, headers)).toBe(401);
  });
});

test("a role with a comma is one role", async () => {
  const token = "the-token-of-eve-which-is-long-enough";
  const block = `type: bearer, tokens: [{ token: ${token}, username: eve, roles: ["reader,admin", ops] }]`;
  await using program = await startMcpHere({
    "eider.yaml": main(`, auth: { ${block} }`, `auth: { ${block} }\n`),
    ...whoEndpoint("who"),
  });
  const eve = { Authorization: `Bearer ${token}` };
  for (const [way, ask] of ways)
    expect([way, await ask(program, eve)]).toEqual([way, [whoRow("eve", "reader%2Cadmin,ops", "bearer")]]);
});

const ROWS = `SELECT name FROM (VALUES ('ann', 'hers'), ('ben', 'his')) t(owner, name) WHERE owner = '{{auth.username}}'`;
const rows = (more = "") => ({
  "rows.yaml": `mcp-tool: { name: rows, description: x }\ntemplate-source: rows.sql\nconnection: db\nwith-pagination: false\n${more}`,
  "rows.sql": ROWS,
});

test("A33 each sees the own rows, and no argument changes that", async () => {
  const { block, ann, ben } = kindOf("bearer");
  await using program = await startMcpHere({ "eider.yaml": main(`, auth: { ${block} }`), ...rows() });
  const names = async (headers: SentHeaders): Promise<unknown> =>
    (await program.call("rows", {}, headers))["structuredContent"].rows;
  expect([await names(ann), await names(ben), await names(ann)]).toEqual([
    [{ name: "hers" }],
    [{ name: "his" }],
    [{ name: "hers" }],
  ]);
  for (const args of [
    { "auth.username": "ben" },
    { auth: { username: "ben" } },
    { username: "ben" },
    JSON.parse('{"__proto__":{"auth.username":"ben"}}'),
  ]) {
    const result = await program.call("rows", args, ann);
    expect(JSON.stringify(result)).not.toContain('"his"');
    expect(result["isError"] || result["structuredContent"].rows[0].name === "hers").toBe(true);
  }
});

describe("an endpoint with a block of its own is reached by nobody who is nobody", () => {
  const own = whoEndpoint("own", "auth: { type: basic, users: [{ username: olga, password: secret-of-olga }] }\n");
  const olga = { Authorization: `Basic ${btoa("olga:secret-of-olga")}` };
  const type = "basic";

  test("where MCP asks for nothing, it asks for what the endpoint asks for", async () => {
    await using program = await startMcpHere({ "eider.yaml": main(""), ...own, ...whoEndpoint("open") });
    for (const ask of [program.modern, program.legacy]) {
      const refused = await ask("tools/call", { name: "own" });
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Basic realm="eider"']);
      expect((await ask("tools/call", { name: "own" }, { Authorization: "Basic !" })).status).toBe(401);
      expect(rowsOf(await ask("tools/call", { name: "own" }, olga))).toEqual([whoRow("olga", "", type)]);
      expect(rowsOf(await ask("tools/call", { name: "open" }))).toEqual([whoRow("", "", "")]);
    }
  });

  test("where MCP knows somebody, that is enough; where its tools are public, it is not", async () => {
    const { block, ann } = kindOf("bearer");
    const auth = `, auth: { ${block}, methods: { tools/call: { required: false } } }`;
    await using program = await startMcpHere({ "eider.yaml": main(auth), ...own, ...whoEndpoint("open") });
    expect((await program.modern("tools/call", { name: "own" })).status).toBe(401);
    expect(rowsOf(await program.modern("tools/call", { name: "own" }, ann))).toEqual([
      whoRow("ann", "reader", "bearer"),
    ]);
    expect(rowsOf(await program.modern("tools/call", { name: "own" }, olga))).toEqual([whoRow("olga", "", type)]);
    expect(rowsOf(await program.modern("tools/call", { name: "open" }))).toEqual([whoRow("", "", "")]);
  });

  test("a block that is inherited counts as one of its own, for tools, resources and prompts", async () => {
    const { block, ann } = kindOf("bearer");
    await using program = await startMcpHere({
      "eider.yaml": main("", `auth: { ${block} }\n`),
      ...whoEndpoint("who"),
      "r.yaml": "mcp-resource: { name: who, description: x }\ntemplate-source: who.sql\nconnection: db\n",
      "p.yaml": "mcp-prompt: { name: who, description: x, template: secret }\n",
    });
    const asked = [
      ["tools/call", { name: "who" }],
      ["resources/read", { uri: "eider://who" }],
      ["resources/read", { uri: "eider://wh%6F" }],
      ["prompts/get", { name: "who" }],
    ] as const;
    for (const [method, params] of asked) {
      for (const ask of [program.modern, program.legacy]) {
        const { status, text } = await ask(method, params);
        expect([method, status, text.includes("secret")]).toEqual([method, 401, false]);
        expect((await ask(method, params, ann)).status).toBe(200);
      }
    }
    expect((await program.modern("tools/list")).status).toBe(200);
  });
});

describe("limits and the audit", () => {
  test("a tool has a limit of its own, by its name and the caller's; a call beyond it is told when to come back", async () => {
    const { block, ann, ben } = kindOf("bearer");
    const limit = "rate-limit: { max: 2, interval: 60, key: user }\n";
    await using program = await startMcpHere({
      "eider.yaml": main(`, auth: { ${block} }`),
      ...rows(limit),
      ...whoEndpoint("who"),
    });
    const call = async (headers: SentHeaders): Promise<Json> => program.call("rows", {}, headers);
    for (let index = 0; index < 2; index++) expect((await call(ann))["isError"]).toBe(false);
    const beyond = await call(ann);
    expect([beyond["isError"], beyond["content"][0].text]).toEqual([
      true,
      expect.stringMatching(/^Rate limit exceeded, retry in \d+ s$/),
    ]);
    expect((await call(ben))["isError"]).toBe(false);
    expect((await program.call("who", {}, ann))["isError"]).toBe(false);
  });

  test("failed attempts count for the address, and then get 429", async () => {
    const { block } = kindOf("bearer");
    const limit = "rate-limit: { max: 2, interval: 60 }\n";
    await using program = await startMcpHere({ "eider.yaml": main(`, auth: { ${block} }`), ...rows(limit) });
    const guess = () => program.modern("tools/call", { name: "rows" }, { Authorization: "Bearer guess" });
    const statuses = [(await guess()).status, (await guess()).status];
    const third = await guess();
    expect([...statuses, third.status, Number(third.headers.get("retry-after")) > 0]).toEqual([401, 401, 429, true]);
  });

  test("every call is written down, with the name of its tool, who called and what for", async () => {
    const { block, ann } = kindOf("bearer");
    const audit = "audit: { sink: file, path: audit.jsonl, redact: [token] }\n";
    const request =
      "request:\n  - { field-name: token, field-in: query }\n  - { field-name: id, field-in: query, validators: [{ type: int }] }\n";
    await using program = await startMcpHere({
      "eider.yaml": main(`, auth: { ${block}, methods: { tools/list: { required: false } } }`, audit),
      ...rows(request),
      "p.yaml": "mcp-prompt: { name: hello, description: x, template: hello }\n",
    });
    await program.call("rows", { id: 7, token: "of-the-call" }, ann);
    await program.call("rows", { id: "x" }, ann);
    await program.modern("prompts/get", { name: "hello" }, ann);
    const lines = await until("three lines", async () => {
      const text = await readFile(`${program.folder}/audit.jsonl`, "utf8").catch(() => "");
      const found = text.trim().split("\n");
      return found.length === 3 && found.map((line): Json => JSON.parse(line));
    });
    expect(lines).toMatchObject([
      { surface: "mcp", endpoint: "mcp-tool rows", status: 200, rows: 1, identity: { username: "ann" } },
      { surface: "mcp", endpoint: "mcp-tool rows", status: 400 },
      { surface: "mcp", endpoint: "mcp-prompt hello", status: 200 },
    ]);
    expect(lines[0]?.["parameters"]).toMatchObject({ id: "7" });
    expect(JSON.stringify(lines)).not.toContain("of-the-call");
  });
});
