import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Files, type Program, run as runProgram, start } from "./program.ts";

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
const files: Files = {
  "eider.yaml": `connections:
  db: { init: "CREATE TABLE IF NOT EXISTS customers (id INTEGER, name VARCHAR)" }
  crm: { type: duckdb, path: crm.duckdb }
  erp: { init: "ATTACH 'erp.duckdb'; CREATE TABLE IF NOT EXISTS erp.parts AS SELECT 7 AS part" }
duckdb: { db_path: ./shop.duckdb }
cache: { path: ./cache.duckdb }
mcp: {}
`,
  "list.yaml": `url-path: /customers
template-source: list.sql
connection: [db]
with-pagination: false
mcp-tool: { name: find_customers, description: finds customers }
`,
  "list.sql": "SELECT id, name FROM customers ORDER BY id",
  "add.yaml": `url-path: /customers
method: POST
operation: { type: Write }
template-source: add.sql
connection: [db]
request: [{ field-name: id, field-in: body, required: true, validators: [{ type: int }] }]
mcp-tool: { name: add_customer, description: adds a customer }
`,
  "add.sql": "INSERT INTO customers VALUES ({{params.id}}, 'c' || {{params.id}})",
  "note.yaml":
    "url-path: /notes\nmethod: POST\noperation: { type: Write }\ntemplate-source: note.sql\nconnection: [crm]\n",
  "note.sql": "CREATE TABLE IF NOT EXISTS crm.notes AS SELECT 'kept in the log' AS note",
  "notes.yaml": "url-path: /notes\ntemplate-source: notes.sql\nconnection: [crm]\nwith-pagination: false\n",
  "notes.sql": "SELECT note FROM crm.notes",
  "parts.yaml": "url-path: /parts\ntemplate-source: parts.sql\nconnection: [erp]\nwith-pagination: false\n",
  "parts.sql": "SELECT part FROM erp.parts",
  "totals.yaml": `url-path: /totals
template-source: totals.sql
connection: [db]
with-pagination: false
cache: { table: totals, template-file: refresh.sql }
`,
  "totals.sql": `SELECT n FROM ${TABLE}`,
  "refresh.sql": "SELECT count(*) AS n FROM customers",
};

let service: Program;
let url: string;
beforeAll(async () => {
  service = await start(files, { args: ["serve", "--port", "0"] });
  url = await service.url();
  const post = (path: string, body: string) =>
    fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body });
  expect((await post("/customers", '{"id": 1}')).status).toBe(200);
  expect((await post("/notes", "{}")).status).toBe(200);
  expect(await (await fetch(`${url}/totals`)).json()).toEqual([{ n: 1 }]);
  // Not in the cached rows.
  expect((await post("/customers", '{"id": 2}')).status).toBe(200);
});
afterAll(async () => await service[Symbol.asyncDispose]());

const run = (...args: readonly string[]) => runProgram({}, { args: [...args], cwd: service.folder });
const noteOf = (file: string) =>
  `note: another process (PID ${service.pid}) has ${file} open; using a copy of it as it is now\n`;

describe("beside a running service", () => {
  test("call reads what the service has committed: main file, attached files and cache", async () => {
    const { code, stdout, stderr } = await run("call", "/customers");
    expect([code, stdout]).toEqual([0, '[{"id":1,"name":"c1"},{"id":2,"name":"c2"}]']);
    for (const file of ["shop.duckdb", "crm.duckdb", "erp.duckdb", "cache.duckdb"])
      expect(stderr).toContain(noteOf(file));
    expect(await run("call", "/notes")).toMatchObject({ code: 0, stdout: '[{"note":"kept in the log"}]' });
    expect(await run("call", "/parts")).toMatchObject({ code: 0, stdout: '[{"part":7}]' });
    expect(await run("call", "/totals")).toMatchObject({ code: 0, stdout: '[{"n":1}]' });
    expect(await run("explain", "/totals")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("filled, 1 rows"),
    });
  });

  test("a copy is complete while the service writes", async () => {
    let [last, isOver] = [100, false];
    const writing = (async () => {
      while (!isOver) {
        const body = JSON.stringify({ id: last + 1 });
        const headers = { "content-type": "application/json" };
        expect((await fetch(`${url}/customers`, { method: "POST", headers, body })).status).toBe(200);
        last++;
      }
    })();
    for (let round = 0; round < 3; round++) {
      const committed = last;
      const { code, stdout, stderr } = await run("call", "/customers");
      expect([code, stderr]).toEqual([0, expect.stringContaining(noteOf("shop.duckdb"))]);
      const ids = (JSON.parse(stdout) as { id: number }[]).map(({ id }) => id).filter((id) => id > 100);
      expect(ids).toEqual(Array.from(ids, (_, index) => 101 + index));
      expect(ids.length).toBeGreaterThanOrEqual(committed - 100);
    }
    isOver = true;
    await writing;
    expect(last).toBeGreaterThan(100);
  });

  test("a write says that the service has the file, and changes nothing", async () => {
    const error = "Service Unavailable: another process has the database open; only it can change the data";
    const { code, stdout, stderr } = await run("call", "POST", "/customers", "id=9");
    expect([code, JSON.parse(stdout)]).toEqual([1, { error }]);
    expect(stderr).toContain(noteOf("shop.duckdb"));
    const tool = await run("call", "add_customer", "id=9");
    expect([tool.code, tool.stdout]).toEqual([1, expect.stringMatching(/^Another process has the database open/)]);
    expect((await run("explain", "POST /customers", "id=9", "--analyze")).code).toBe(0);
    expect(await (await fetch(`${url}/customers`)).text()).not.toContain('"id":9,');
  });

  test("check, openapi and client lose neither types nor connections", async () => {
    const checked = await run("check");
    expect([checked.code, checked.stdout]).toEqual([0, "6 endpoints, no problems\n"]);
    expect(checked.stderr).not.toContain("warning");
    expect(JSON.parse((await run("openapi")).stdout)).toMatchObject({
      components: { schemas: { GetPartsRow: { properties: { part: { type: ["integer", "null"] } } } } },
    });
    expect((await run("client")).stdout).toMatch(/part: number/);
  });

  test("mcp answers from the copy", async () => {
    await using program = await start({}, { args: ["mcp"], cwd: service.folder, input: "pipe" });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "find_customers", arguments: {} } };
    const begin = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    program.send(
      `${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: begin })}\n${JSON.stringify(message)}\n`,
    );
    program.endInput();
    expect((await program.exited).code).toBe(0);
    expect(program.stdout()).toContain('"structuredContent":{"rows":[{"id":1,"name":"c1"},{"id":2,"name":"c2"}');
  });

  test("serve and cache do not use copies, and no copy is left behind", async () => {
    const busy = await run("serve", "--port", "0");
    expect([busy.code, busy.stderr]).toEqual([3, expect.stringMatching(/^IO Error: Could not set lock on file/)]);
    expect((await run("cache", "list")).code).toBe(3);
    const temporary = join(service.folder, "temporary");
    const options = { args: ["call", "/customers"], cwd: service.folder, env: { TMPDIR: temporary } };
    expect((await runProgram({}, options)).code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
  });

  test("a file that cannot be copied is an error, even of a lazy connection", async () => {
    const options = { args: ["check"], cwd: service.folder, env: { TMPDIR: join(service.folder, "shop.duckdb") } };
    const { code, stdout, stderr } = await runProgram({}, options);
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(/has it open, and it cannot be copied: .*it is not a folder/);
    const attachOnly = {
      ...files,
      "eider.yaml": `connections: { crm: { init: "ATTACH '${service.folder}/crm.duckdb' AS crm" } }\n`,
    };
    const kept = Object.fromEntries(Object.entries(attachOnly).filter(([name]) => /^(?:eider|notes?)\./.test(name)));
    expect(await runProgram(kept, { args: ["check"] })).toMatchObject({
      code: 0,
      stdout: "2 endpoints, no problems\n",
    });
    const blocked = await runProgram(kept, { args: ["check"], env: { TMPDIR: join(service.folder, "shop.duckdb") } });
    expect([blocked.code, blocked.stdout]).toEqual([3, ""]);
    expect(blocked.stderr).toContain("connection 'crm' cannot be reached");
  });
});
