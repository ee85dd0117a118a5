import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/run.ts";
import { testRuntime } from "../runtime.ts";
import { type Files, folderWith, runHere, run as runProgram, start } from "./program.ts";

const files: Files = {
  "eider.yaml": `project-name: shop
connections: { db: { init: "CREATE TABLE customers AS SELECT i AS id, 'c' || i AS name, 9007199254740993 AS big FROM range(1, 6) t(i)" } }
mcp: {}
audit: { enabled: true, path: audit.ndjson }
`,
  "list.yaml": `url-path: /customers
template-source: list.sql
connection: [db]
request:
  - { field-name: q, field-in: query }
  - { field-name: x_region, field-in: header }
mcp-tool: { name: find_customers, description: finds customers }
`,
  "list.sql":
    "SELECT *, {{params.x_region}} AS region FROM customers {{#params.q}}WHERE name = {{params.q}}{{/params.q}} ORDER BY id",
  "one.yaml": `url-path: /customers/:id
template-source: one.sql
connection: [db]
returns: one
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "one.sql": "SELECT name FROM customers WHERE id = {{params.id}}",
  "add.yaml": `url-path: /customers
method: POST
operation: { type: Write, returns-data: true }
template-source: add.sql
connection: [db]
request:
  - { field-name: id, field-in: body, required: true, validators: [{ type: int }] }
  - { field-name: name, field-in: body, required: true }
`,
  "add.sql": "INSERT INTO customers (id, name) VALUES ({{params.id}}, {{params.name}}) RETURNING id, name",
  "mine.yaml": `url-path: /mine
template-source: mine.sql
connection: [db]
with-pagination: false
auth: { enabled: true, type: bearer, token: 0123456789abcdef0123456789abcdef-x }
`,
  "mine.sql": "SELECT {{auth.username}} AS who, {{auth.roles}} AS roles, {{auth.type}} AS type",
  "new.json": '{"id": 9, "name": "Zoë"}',
};

const call = (...args: readonly string[]) => runHere(files, { args: ["call", ...args] });

describe("eider call", () => {
  test("prints the bytes that REST sends, in every format, and exits with 0", async () => {
    await using program = await start(files, { args: ["serve", "--port", "0"] });
    const url = await program.url();
    for (const format of ["json", "csv", "ndjson", "arrow", "parquet"]) {
      const served = await fetch(`${url}/customers?limit=3&format=${format}`);
      const called = await runProgram(files, { args: ["call", "/customers", "limit=3", "--format", format] });
      expect([format, called.code, called.stdout]).toEqual([
        format,
        0,
        Buffer.from(await served.arrayBuffer()).toString(),
      ]);
      const { status } = served;
      const type = served.headers.get("content-type");
      expect(called.stderr).toMatch(
        new RegExp(`^${status} OK; .*Content-Type: ${type?.replace(/[.+]/g, "\\$&")}(;|\\n)`),
      );
    }
  });

  test.each([
    ["the path in YAML", ["/customers/:id", "id=2"]],
    ["the path in OpenAPI", ["/customers/{id}", "id=2"]],
    ["the path with values", ["/customers/2"]],
    ["a method before it", ["GET /customers/:id/", "id=2"]],
    ["a method as a word of its own", ["get", "/customers/2"]],
  ])("an endpoint is named by %s", async (_, args) => {
    expect(await call(...args)).toMatchObject({ code: 0, stdout: '{"name":"c2"}' });
  });

  test("values go to path, query, header and body, as the endpoint declares them", async () => {
    const read = await call("/customers", "q=c3", "x_region=north", "limit=1");
    expect(JSON.parse(read.stdout)).toMatchObject({ data: [{ name: "c3", region: "north" }], total_count: 1 });
    expect(await call("/customers?q=c4", "--json")).toMatchObject({ stdout: expect.stringContaining('"name":"c4"') });
    const written = await call("POST", "/customers", "id=8", "name=O'Brien = x");
    expect([written.code, written.stdout]).toEqual([0, '{"rows_affected":1,"data":[{"id":8,"name":"O\'Brien = x"}]}']);
  });

  test("a whole body comes from a file or from standard input", async () => {
    expect(await call("POST /customers", "@new.json")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Zoë"),
    });
    await using program = await start(files, { args: ["call", "POST", "/customers", "-"], input: "pipe" });
    program.send('{"id": 10, "name": "piped"}');
    program.endInput();
    expect([(await program.exited).code, program.stdout()]).toEqual([0, expect.stringContaining('"name":"piped"')]);
  });

  test("a failed call prints the response, and exits with 1", async () => {
    const invalid = await call("/customers/x");
    expect([invalid.code, JSON.parse(invalid.stdout)]).toEqual([
      1,
      { errors: [{ field: "id", message: expect.any(String) }] },
    ]);
    expect(invalid.stderr).toMatch(/^400 Bad Request; /);
    expect(await call("/customers/99")).toMatchObject({ code: 1, stdout: '{"error":"Not Found"}' });
  });

  test("authentication is required, unless --user names an identity", async () => {
    expect(await call("/mine")).toMatchObject({ code: 1, stdout: '{"error":"Unauthorized"}' });
    const mine = await call("/mine", "--user", "eve", "--roles", "a,b");
    expect([mine.code, mine.stdout]).toEqual([0, '[{"who":"eve","roles":"a,b","type":"bearer"}]']);
  });

  test("--json prints status, headers and body, with all digits", async () => {
    const { stdout } = await call("/customers", "limit=1", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      status: 200,
      headers: { "content-type": "application/json", "x-total-count": "5" },
      body: { data: [{ id: 1 }] },
    });
    expect(stdout).toContain('"big":9007199254740993');
    const parquet = JSON.parse((await call("/customers", "--format", "parquet", "--json")).stdout) as { body: string };
    expect(Buffer.from(parquet.body, "base64").subarray(0, 4).toString()).toBe("PAR1");
    const csv = await call("/customers/1", "--format", "csv", "--json");
    expect(JSON.parse(csv.stdout)).toMatchObject({ body: "name\r\nc1\r\n" });
  });

  test("a tool is called by its name", async () => {
    const text = await call("find_customers", "q=c5");
    expect([text.code, JSON.parse(text.stdout)]).toMatchObject([0, [{ name: "c5" }]]);
    const whole = JSON.parse((await call("find_customers", "q=c5", "--json")).stdout) as unknown;
    expect(whole).toMatchObject({ structuredContent: { row_count: 1 }, isError: false });
    expect(await call("find_customers", "zip=1")).toMatchObject({ code: 1, stdout: expect.stringContaining("zip") });
  });

  test("a terminal gets a table", async () => {
    await using folder = await folderWith(files);
    const runtime = testRuntime({ cwd: folder.path });
    const terminal = { ...runtime, stdout: { ...runtime.stdout, isTerminal: true } };
    expect(await runCommandLine(["call", "/customers", "limit=2"], terminal)).toBe(0);
    expect(runtime.stdoutText()).toBe(
      "id  name  big               region\n1   c1    9007199254740993\n2   c2    9007199254740993\n",
    );
    expect(runtime.stderrText()).toMatch(/^200 OK; .*\n2 of 5 rows; next: \/customers\?limit=2&offset=2\n$/);
    expect(await runCommandLine(["call", "/customers", "--format", "arrow"], terminal)).toBe(2);
  });

  test("a call is in the audit", async () => {
    await using folder = await folderWith(files);
    const options = { args: ["call", "POST", "/customers", "id=7", "name=x"], cwd: folder.path };
    expect(await runHere({}, options)).toMatchObject({ code: 0 });
    const audit = await readFile(join(folder.path, "audit.ndjson"), "utf8");
    expect(JSON.parse(audit)).toMatchObject({ endpoint: "POST /customers", status: 200 });
  });

  test("where HTTPS is required, a call is still possible", async () => {
    const secure = { ...files, "eider.yaml": `${files["eider.yaml"]}enforce-https: { enabled: true }\n` };
    expect(await runHere(secure, { args: ["call", "/customers/1"] })).toMatchObject({
      code: 0,
      stdout: '{"name":"c1"}',
    });
  });

  test.each([
    [["/custmers"], "no endpoint or tool '/custmers'; did you mean '/customers'?"],
    [["find_customer"], "no endpoint or tool 'find_customer'; did you mean 'find_customers'?"],
    [["xyz"], "no endpoint or tool 'xyz'; use one of /customers, /customers/:id, /mine, find_customers"],
    [["PUT", "/customers"], "several endpoints have this path: use one of 'GET /customers', 'POST /customers'"],
    [["DELETE /customers/1"], "the method is another: use 'GET /customers/1'"],
    [[], "call: name an endpoint, such as /customers, or a tool"],
    [["/customers/:id"], "missing 'id' in the path; add id=VALUE"],
    [["/customers/1", "id=2"], "'id' is already in the path"],
    [["/customers", "limit"], "call: expected name=value, found 'limit'"],
    [
      ["POST /customers", "@new.json", "name=x"],
      "'name' belongs in the body, which is given as a whole; write it there",
    ],
    [["POST /customers", "@none.json"], "cannot read 'none.json' (there is no such file)"],
    [["/customers", "--format", "xml"], "--format: 'xml' is not valid; use one of json, csv, arrow, ndjson, parquet"],
    [["/customers", "--roles", "a"], "--roles is only valid with --user"],
  ])("%j is wrong usage", async (args, message) => {
    expect(await call(...args)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `eider: ${message}\nTry: eider --help\n`,
    });
  });
});
