import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadProject } from "../../src/config/load-project.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { type McpProgram, startMcpHere } from "../mcp-program.ts";
import { type Files, folderWith, startHere } from "../process/program.ts";
import { problemsFrom } from "../service.ts";
import { outcome } from "./write-project.ts";

/** A small library, written as a user of flAPI would write it. */
const library: Files = {
  "flapi.yaml": `
project_name: town-library
http-port: 0
template:
  path: ./sqls
  environment-whitelist: ['^LIBRARY_.*']
connections:
  shelf:
    properties: { path: './data/books.csv', region: north }
    allow: '*'
  desk:
    init: |
      CREATE TABLE IF NOT EXISTS members (id INTEGER, name VARCHAR);
      INSERT INTO members VALUES (1, 'Ada'), (2, 'Bo');
duckdb: { access_mode: READ_WRITE, threads: 2, default_order: DESC }
heartbeat: { enabled: true, worker-interval: 3600 }
telemetry: { enabled: false }
`,
  "data/books.csv": "id,title,genre\n1,Dune,novel\n2,Emma,novel\n3,Atlas,map\n",
  "sqls/shared/fields.yaml": `
# {{include:request from nowhere.yaml}}
request:
  - field-name: id
    field-in: query
    validators: [{ type: integer, min: 1, preventSqlInjection: true }]
  - field-name: genre
    field-in: query
    validators: [{ type: enum, values: [novel, map] }]
connection: [shelf]
`,
  "sqls/books.yaml": `
url-path: /books/
{{include:request from shared/fields.yaml}}
{{include:connection from shared/fields.yaml}}
template-source: books.sql
mcp-tool:
  name: find_books
  description: Finds books
  result_mime_type: application/json
  allowed-roles: [reader]
`,
  "sqls/books.sql": `
SELECT id, title, genre FROM '{{{conn.path}}}'
WHERE 1=1
{{#params.id}}
  AND id = {{{ params.id }}}
{{/params.id}}
{{#params.genre}}
  AND genre = {{ params.genre }}
{{/params.genre}}
ORDER BY id
LIMIT {{#params.limit}}{{ params.limit }}{{/params.limit}}{{^params.limit}}100{{/params.limit}}
`,
  "sqls/lend.yaml": `
url-path: /loans/
method: POST
operation: { type: write, returns-data: true, transaction: true }
request:
  - field-name: book
    field-in: body
    required: true
    validators: [{ type: int }]
  - field-name: note
    field-in: body
    defaultValue: none
template-source: lend.sql
connection: [desk]
`,
  "sqls/lend.sql": `
CREATE TABLE IF NOT EXISTS loans (book INTEGER, note VARCHAR);
INSERT INTO loans VALUES ({{{ params.book }}}, '{{{ params.note }}}');
SELECT * FROM loans WHERE book = {{{ params.book }}};
`,
  "sqls/loans.yaml": "url-path: /loans/\ntemplate-source: loans.sql\nconnection: [shelf]\nwith-pagination: false\n",
  "sqls/loans.sql": "SELECT book, note FROM Loans ORDER BY book",
  "sqls/return.yaml": `
url-path: /loans/:book
method: DELETE
operation: { type: Write, validate-before-write: false }
request: [{ field-name: book, field-in: path, required: true, validators: [{ type: int }] }]
template-source: return.sql
connection: [desk]
`,
  "sqls/return.sql": "DELETE FROM main.loans WHERE book = {{{ params.book }}};\n",
  "sqls/members.yaml":
    "url-path: /members\ntemplate-source: members.sql\nconnection: [shelf]\nwith-pagination: false\n",
  "sqls/members.sql": "SELECT name FROM members ORDER BY id",
  "sqls/prices.yaml": `
url-path: /prices
template-source: prices.sql
connection: [shelf]
with-pagination: false
request:
  - { field-name: above, field-in: query, default: "1.5", validators: [{ type: double }] }
  - { field-name: sold, field-in: query, validators: [{ type: bool }] }
  - { field-name: code, field-in: query, validators: [{ type: string, pattern: "^[A-Z]+$", max-length: 3 }] }
`,
  "sqls/prices.sql":
    "SELECT p FROM (VALUES (1.0), (2.5)) t(p) WHERE p > {{ params.above }} {{#params.sold}} AND {{ params.sold }} {{/params.sold}}",
  "sqls/pages.yaml": `
url-path: /pages
template-source: pages.sql
connection: [shelf]
heartbeat: { enabled: true, params: { service: library } }
`,
  "sqls/pages.sql":
    "SELECT i FROM range(250) t(i) ORDER BY i ASC LIMIT {{#params.limit}}{{ params.limit }}{{/params.limit}}{{^params.limit}}100{{/params.limit}}",
  "sqls/welcome.yaml": `
mcp-prompt:
  name: welcome
  description: Greets a reader
  template: Welcome to the library.
  arguments: []
`,
};

describe("a folder for flAPI runs as it is", () => {
  let program: McpProgram;
  beforeAll(async () => {
    program = await startMcpHere(library, { args: ["serve", "--no-telemetry"] });
  });
  afterAll(() => program[Symbol.asyncDispose]());

  const ask = (target: string, body?: unknown) => outcome({ url: program.rest }, target, body);

  test("MCP is on the REST port without an mcp block", async () => {
    expect(program.mcp).toBe(`${program.rest}/mcp`);
    expect((await fetch(`${program.rest}/mcp/health`)).status).toBe(200);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "find_books", arguments: { id: 2 } } };
    const [status, answer] = await ask("POST /mcp/jsonrpc", call);
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      result: { structuredContent: { rows: [{ id: 2, title: "Emma", genre: "novel" }] } },
    });
  });

  test("a prompt without arguments is listed with an empty list", async () => {
    const { message } = await program.legacy("prompts/list");
    expect(message?.result).toMatchObject({ prompts: [{ name: "welcome", arguments: [] }] });
  });

  test("filters, enums and limits as flAPI's guide writes them", async () => {
    expect(await ask("GET /books/?genre=novel&limit=1")).toEqual([
      200,
      // Descending, by default_order.
      {
        data: [{ id: 2, title: "Emma", genre: "novel" }],
        next: "/books/?genre=novel&limit=1&offset=1",
        total_count: 2,
      },
    ]);
    expect(await ask("GET /books/?genre=poem")).toEqual([
      400,
      { errors: [{ field: "genre", message: "Invalid enum value" }] },
    ]);
  });

  test("a limit with a default of its own pages through all rows", async () => {
    const [, first] = await ask("GET /pages?limit=2&offset=120");
    expect(first).toEqual({ data: [{ i: 120 }, { i: 121 }], next: "/pages?limit=2&offset=122", total_count: 250 });
    const [, second] = await ask("GET /pages?limit=200");
    expect(second).toMatchObject({ next: "/pages?limit=200&offset=200", total_count: 250 });
  });

  test("a table that another template creates is missing only until that one has run", async () => {
    const [status, answer] = await ask("GET /loans/");
    expect(status).toBe(500);
    expect(answer).toEqual({ error: expect.stringContaining("Loans does not exist") });
    expect((await ask("DELETE /loans/1"))[0]).toBe(500);
    expect(await ask("POST /loans/", { book: 3 })).toEqual([
      200,
      { rows_affected: 1, data: [{ book: 3, note: "none" }] },
    ]);
    expect(await ask("GET /loans/")).toEqual([200, [{ book: 3, note: "none" }]]);
    expect(await ask("DELETE /loans/3")).toEqual([200, { rows_affected: 1 }]);
    expect(await ask("GET /loans/")).toEqual([200, []]);
  });

  test("so is one that the init of another connection creates", async () => {
    expect(await ask("GET /members")).toEqual([200, [{ name: "Bo" }, { name: "Ada" }]]);
  });

  test("validators in flAPI's other words", async () => {
    expect(await ask("GET /prices")).toEqual([200, [{ p: 2.5 }]]);
    expect(await ask("GET /prices?above=.5&sold=TRUE")).toEqual([200, [{ p: 1 }, { p: 2.5 }]]);
    expect(await ask("GET /prices?above=x&code=abc")).toEqual([
      400,
      {
        errors: [
          { field: "above", message: "Invalid number value" },
          { field: "code", message: "Invalid string format" },
        ],
      },
    ]);
  });

  test("what it ignores or reads otherwise, it says", () => {
    const said = program.stderr();
    expect(said).toContain("sqls/books.yaml");
    expect(said).toMatch(/warning: mcp-tool\.allowed-roles: 'allowed-roles' is ignored; every client/);
    expect(said).toMatch(/warning: request\[0\]\.validators\[0\]\.type: 'integer' means 'int'; write 'int'/);
    expect(said).toMatch(/warning: request\[2\]\.validators\[0\]\.pattern: 'pattern' means 'regex'/);
    expect(said).toMatch(/warning: heartbeat\.params\.service: unknown parameter 'service'/);
    expect(said).not.toContain("not served over MCP");
  });
});

describe("MCP of a flAPI folder", () => {
  const one: Files = {
    "flapi.yaml": "http-port: 0\nconnections: { memory: {} }\n",
    "one.yaml": "mcp-tool: { name: one, description: One }\ntemplate-source: one.sql\nconnection: memory\n",
    "one.sql": "SELECT 1 AS a",
  };
  const withMcp = (block: string): Files => ({ ...one, "flapi.yaml": `${one["flapi.yaml"]}mcp: ${block}\n` });

  test.each(["{}", "{ enabled: true, instructions: Read first }", "{ host: localhost }"])(
    "with mcp: %s, it stays on the REST port",
    async (block) => {
      await using program = await startMcpHere(withMcp(block));
      expect(program.mcp).toBe(`${program.rest}/mcp`);
      expect((await program.call("one"))["structuredContent"].rows).toEqual([{ a: 1 }]);
    },
  );

  test("with a port of its own, it is there", async () => {
    await using program = await startMcpHere(withMcp("{ port: 0 }"));
    expect(new URL(program.mcp).port).not.toBe(new URL(program.rest).port);
    expect((await fetch(`${program.rest}/mcp/jsonrpc`, { method: "POST" })).status).toBe(404);
  });

  test("with enabled: false, it is off", async () => {
    await using program = await startHere(withMcp("{ enabled: false }"));
    const url = await program.url();
    expect((await fetch(`${url}/mcp/jsonrpc`, { method: "POST" })).status).toBe(404);
    expect(program.stdout()).not.toContain("MCP");
  });

  test("variants of the name count, those of other files do not", async () => {
    const files = (name: string): Files => ({
      [name]: one["flapi.yaml"],
      "one.yaml": one["one.yaml"],
      "one.sql": "SELECT 1",
    });
    await using variant = await startMcpHere(files("flapi-test.yaml"), { args: ["--config", "flapi-test.yaml"] });
    expect(variant.mcp).toBe(`${variant.rest}/mcp`);
    await using other = await startHere(files("other.yaml"), { args: ["--config", "other.yaml"] });
    await other.url();
    expect(other.stdout()).not.toContain("MCP");
  });
});

test.each([
  [
    "",
    [
      "one.yaml:1:1: warning: mcp-tool: every client that reaches 0.0.0.0 can use it over MCP; add mcp.auth or an auth block, or listen on 127.0.0.1",
    ],
  ],
  ["auth: { type: bearer, token: a-token-that-is-long-enough-to-be-one }\n", []],
])("an open tool of a flAPI folder is a security warning where other machines reach it: %j", async (auth, expected) => {
  await using folder = await folderWith({
    "flapi.yaml": "http-host: 0.0.0.0\nconnections: { memory: {} }\n",
    "one.yaml": `mcp-tool: { name: one, description: One }\ntemplate-source: one.sql\nconnection: memory\n${auth}`,
    "one.sql": "SELECT 1",
  });
  const { problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  expect(problems.filter(({ path }) => path.startsWith("mcp")).map(formatProblem)).toEqual(expected);
});

test("the other words of flAPI are mistakes in a project of Eider", async () => {
  const yaml =
    "url-path: /x\ntemplate-source: x.sql\nconnection: memory\nrequest:\n  - { field-name: n, field-in: query, validators: [{ type: double }] }\n";
  expect(await problemsFrom({ "x.yaml": yaml, "x.sql": "SELECT 1" })).toEqual([
    expect.stringMatching(/^x\.yaml:5:\d+: request\[0\]\.validators\[0\]\.type: unknown type 'double'/),
  ]);
});
