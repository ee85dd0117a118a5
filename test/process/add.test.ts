import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createDataFiles, oddRows } from "../data-files.ts";
import { type Files, folderWith, run, runHere, startHere } from "./program.ts";

const MAIN = `connections:
  shop:
    init: |
      CREATE TABLE customers (id INTEGER, name TEXT, joined DATE, seen TIMESTAMP, credit DECIMAL(10, 2), key UUID, ok BOOLEAN);
      INSERT INTO customers VALUES
        (1, 'Ann', '2024-01-01', '2024-01-01 10:00:00', 5, '00000000-0000-0000-0000-000000000001', true),
        (2, 'O''Brien', '2024-02-01', '2024-02-01 10:00:00', 7.5, NULL, false);
template:
  path: endpoints
`;
const PROJECT: Files = { "eider.yaml": MAIN, "endpoints/readme.txt": "" };

/** Adds an endpoint to a project, checks the result and returns the new YAML and SQL. */
async function added(sql: string, ...args: readonly string[]) {
  await using folder = await folderWith({ ...PROJECT, "q.sql": sql });
  const result = await runHere({}, { args: ["add", "New Query", "--sql", "q.sql", ...args], cwd: folder.path });
  const files = await readdir(join(folder.path, "endpoints"));
  if (result.code !== 0) return { ...result, files, yaml: "", sql: "" };
  const checked = await runHere({}, { args: ["check"], cwd: folder.path });
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  const read = (name: string): Promise<string> => readFile(join(folder.path, "endpoints", name), "utf8");
  return { ...result, files, yaml: await read("new-query.yaml"), sql: await read("new-query.sql") };
}

/** The declared parameters: name, type, whether it is required. */
function parametersIn(yaml = ""): readonly string[] {
  return [
    ...yaml.matchAll(
      /- field-name: (\S+)\n {4}field-in: (\w+)\n( {4}required: true\n)?(?: {4}validators:\n {6}- type: (\w+))?/g,
    ),
  ].map(
    ([, name, location, required, type]) =>
      `${name} in ${location}: ${type}${required === undefined ? "" : ", required"}`,
  );
}

describe("--sql", () => {
  test("parameters with the types that DuckDB expects", async () => {
    const { stdout, yaml, sql } = await added(
      "SELECT * FROM customers\r\nWHERE id = $id AND name ILIKE :part AND joined >= $since AND seen < :before\r\n  AND credit < $credit AND key = $key AND ok = $ok LIMIT $top\r\n",
    );
    expect(stdout).toBe("created endpoints/new-query.yaml\ncreated endpoints/new-query.sql\nEndpoint: /new-query\n");
    expect(sql).toBe(
      "SELECT * FROM customers\r\nWHERE id = {{params.id}} AND name ILIKE {{params.part}} AND joined >= {{params.since}} AND seen < {{params.before}}\r\n  AND credit < {{params.credit}} AND key = {{params.key}} AND ok = {{params.ok}} LIMIT {{params.top}}\r\n",
    );
    expect(parametersIn(yaml)).toEqual([
      "id in query: int, required",
      "part in query: string, required",
      "since in query: date, required",
      "before in query: date, required",
      "credit in query: number, required",
      "key in query: uuid, required",
      "ok in query: boolean, required",
      "top in query: int, required",
    ]);
    expect(yaml).toContain("url-path: /new-query\nconnection:\n  - shop\ntemplate-source: new-query.sql\n");
  });

  test.each([
    [
      "a section is optional",
      "FROM customers WHERE true {{#params.id}}AND id = {{params.id}}{{/params.id}}",
      ["id in query: int"],
    ],
    [
      "used inside and outside its section",
      "SELECT {{params.id}}::INT AS n FROM customers WHERE true {{#params.id}}AND id = {{params.id}}{{/params.id}}",
      ["id in query: int, required"],
    ],
    ["in quotes", "FROM customers WHERE name ILIKE '%{{{params.part}}}%'", ["part in query: string, required"]],
    [
      "in quotes, compared with a number",
      "FROM customers WHERE id = '{{{params.id}}}'",
      ["id in query: int, required"],
    ],
    ["a cast", "FROM customers WHERE joined > CAST($day AS DATE)", ["day in query: date, required"]],
    [
      "types that only the functions tell",
      "FROM customers WHERE id % $step = 0 AND contains(name, $part) AND joined > today() - to_days($days::INT)",
      ["step in query: int, required", "part in query: string, required", "days in query: int, required"],
    ],
    ["page parameters need no declaration", "FROM customers LIMIT $limit OFFSET $offset", []],
    [
      "a value that may be anything",
      "SELECT $x AS x, $count + id AS y FROM customers",
      ["x in query: string, required", "count in query: int, required"],
    ],
    ["no parameters", "FROM customers", []],
    [
      "a write",
      "INSERT INTO customers (id, name) VALUES ($id, $name)",
      ["id in body: int, required", "name in body: string, required"],
    ],
    [
      "two statements",
      "CREATE TEMP TABLE t AS SELECT 1 AS a; SELECT * FROM t WHERE a = $a",
      ["a in query: string, required"],
    ],
  ])("%s", async (_, sql, parameters) => {
    const { stderr, yaml } = await added(sql);
    expect(stderr).toBe("");
    expect(parametersIn(yaml)).toEqual(parameters);
  });

  test("what it adds works", async () => {
    await using folder = await folderWith({ ...PROJECT, "q.sql": "SELECT id FROM customers WHERE name = $name" });
    expect(await run({}, { args: ["add", "by name", "--sql", "q.sql"], cwd: folder.path })).toMatchObject({ code: 0 });
    await using program = await startHere({}, { args: ["-c", join(folder.path, "eider.yaml"), "-p", "0"] });
    const url = await program.url();
    expect(await (await fetch(`${url}/by-name?name=O'Brien`)).json()).toMatchObject({ data: [{ id: 2 }] });
    expect((await fetch(`${url}/by-name`)).status).toBe(400);
  });

  test.each([
    ["SQL that does not parse", "SELEC 1", /^endpoints\/new-query\.sql:1:1: /],
    ["a missing table", "FROM nowhere", /^endpoints\/new-query\.sql:1:6: .*nowhere/],
    ["a value where SQL takes none", "FROM customers ORDER BY $sort", /^endpoints\/new-query\.sql:1:25: .*enum/],
    ["a placeholder without a name", "FROM customers WHERE id = ?", /^endpoints\/new-query\.sql:1:27: .*placeholder/],
  ])("%s: the problem, and nothing is written", async (_, sql, problem) => {
    const result = await added(sql);
    expect(result).toMatchObject({ code: 1, stdout: "", files: ["readme.txt"] });
    expect(result.stderr).toMatch(problem);
    expect(result.stderr).toMatch(/\neider: the endpoint would have these problems, so nothing was written\n$/);
  });

  test("a file that is in its place already stays", async () => {
    await using folder = await folderWith({ ...PROJECT, "endpoints/top.sql": "FROM customers LIMIT {{params.n}}" });
    const result = await runHere({}, { args: ["add", "top", "--sql", "endpoints/top.sql"], cwd: folder.path });
    expect(result).toEqual({ code: 0, stdout: "created endpoints/top.yaml\nEndpoint: /top\n", stderr: "" });
    const again = await runHere({}, { args: ["add", "top", "--sql", "endpoints/top.sql"], cwd: folder.path });
    expect(again.code).toBe(1);
  });

  test("never replaces a file", async () => {
    await using folder = await folderWith({ ...PROJECT, "endpoints/top.sql": "mine", "q.sql": "FROM customers" });
    expect(await runHere({}, { args: ["add", "top", "--sql", "q.sql"], cwd: folder.path })).toEqual({
      code: 1,
      stdout: "",
      stderr: "eider: these files already exist, so nothing was written: endpoints/top.sql\n",
    });
    expect(await readFile(join(folder.path, "endpoints/top.sql"), "utf8")).toBe("mine");
    expect(await readdir(join(folder.path, "endpoints"))).not.toContain("top.yaml");
  });

  test("several connections: those that the SQL names", async () => {
    const main = `${MAIN}  # more\n`.replace(
      "template:",
      "  files: { properties: { orders: ./orders.csv } }\n  other: {}\ntemplate:",
    );
    const files = {
      ...PROJECT,
      "eider.yaml": main,
      "orders.csv": "a\n1\n",
      "a.sql": "FROM read_csv('{{{conn.orders}}}')",
      "b.sql": "SELECT 1 AS a",
    };
    await using folder = await folderWith(files);
    const add = (name: string, ...args: readonly string[]) =>
      runHere({}, { args: ["add", name, "--sql", `${name}.sql`, ...args], cwd: folder.path });
    expect(await add("a")).toMatchObject({ code: 0, stderr: "" });
    expect(await readFile(join(folder.path, "endpoints/a.yaml"), "utf8")).toContain("connection:\n  - files\n");
    expect(await add("b")).toMatchObject({
      code: 1,
      stderr: "eider: the SQL names none of the connections; choose one with --connection: shop, files, other\n",
    });
    expect(await add("b", "--connection", "nope")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no connection 'nope'"),
    });
    expect(await add("b", "--connection", "other")).toMatchObject({ code: 0 });
    expect(await readFile(join(folder.path, "endpoints/b.yaml"), "utf8")).toContain("connection:\n  - other\n");
  });
});

describe("--table", () => {
  test("a list with filters", async () => {
    await using folder = await folderWith(PROJECT);
    const result = await runHere({}, { args: ["add", "Kunden größer", "--table", "customers"], cwd: folder.path });
    expect(result).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("Endpoint: /kunden-gro-er\n"),
    });
    expect(await runHere({}, { args: ["check"], cwd: folder.path })).toMatchObject({ code: 0, stderr: "" });
    await using program = await startHere({}, { args: ["-c", join(folder.path, "eider.yaml"), "-p", "0"] });
    const response = await fetch(`${await program.url()}/kunden-gro-er?seen_max=2024-01-01&credit_min=1`);
    expect(await response.json()).toMatchObject({ data: [{ id: 1, name: "Ann" }], total_count: 1 });
  });

  test("a table that does not exist", async () => {
    await using folder = await folderWith(PROJECT);
    const result = await runHere({}, { args: ["add", "x", "--table", "nowhere"], cwd: folder.path });
    expect(result).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^eider: nowhere: .*does not exist/),
    });
  });

  test("100 columns with odd names, in a table with an odd name", async () => {
    await using folder = await folderWith({});
    await createDataFiles(
      `ATTACH '${folder.path}/d.db' AS d`,
      `CREATE TABLE d."it's ""odd""" AS ${oddRows(2)}`,
      "DETACH d",
    );
    await mkdir(join(folder.path, "endpoints"));
    const main = "connections:\n  d: { type: duckdb, path: ./d.db, read-only: true }\ntemplate: { path: endpoints }\n";
    await writeFile(join(folder.path, "eider.yaml"), main);
    const args = ["add", "odd", "--table", 'd."it\'s ""odd"""'];
    expect(await runHere({}, { args, cwd: folder.path })).toMatchObject({ code: 0, stderr: "" });
    expect(await runHere({}, { args: ["check", "--strict"], cwd: folder.path })).toEqual({
      code: 0,
      stdout: "1 endpoint, no problems\n",
      stderr: "",
    });
  });
});

describe("--file", () => {
  test("the connection is added to the configuration file, whose other lines stay", async () => {
    await using folder = await folderWith({
      ...PROJECT,
      "eider.yaml": `# mine\r\n${MAIN.replaceAll("\n", "\r\n")}`,
      "in/zones 1.csv": "id,name\n1,a\n",
    });
    const result = await runHere({}, { args: ["add", "zones", "--file", "in/zones 1.csv"], cwd: folder.path });
    expect(result).toEqual({
      code: 0,
      stdout: "created endpoints/zones.yaml\ncreated endpoints/zones.sql\nchanged eider.yaml\nEndpoint: /zones\n",
      stderr: "",
    });
    const main = await readFile(join(folder.path, "eider.yaml"), "utf8");
    expect(main).toContain('# mine\r\nconnections:\r\n  zones_1:\r\n    type: csv\r\n    path: "./in/zones 1.csv"\r\n');
    expect(main.replaceAll(/ {2}zones_1:\r\n(?: {4}.*\r\n)+(?= {2}shop)/g, "")).toBe(
      `# mine\r\n${MAIN.replaceAll("\n", "\r\n")}`,
    );
    expect(await runHere({}, { args: ["check"], cwd: folder.path })).toMatchObject({ code: 0, stderr: "" });
  });

  test("where the place is not clear, it shows what to add and writes nothing", async () => {
    const main = "connections: { shop: {} }\ntemplate: { path: endpoints }\n";
    await using folder = await folderWith({ "eider.yaml": main, "endpoints/x.txt": "", "zones.csv": "id\n1\n" });
    const result = await runHere({}, { args: ["add", "zones", "--file", "zones.csv"], cwd: folder.path });
    expect(result).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("connections:\n  zones:\n    type: csv\n"),
    });
    expect(await readFile(join(folder.path, "eider.yaml"), "utf8")).toBe(main);
    expect(await readdir(join(folder.path, "endpoints"))).toEqual(["x.txt"]);
  });

  test("a database with several tables", async () => {
    await using folder = await folderWith(PROJECT);
    await createDataFiles(
      `ATTACH '${folder.path}/d.db' AS d`,
      "CREATE TABLE d.a AS SELECT 1 AS x",
      "CREATE TABLE d.b AS SELECT 1 AS x",
      "DETACH d",
    );
    const result = await runHere({}, { args: ["add", "x", "--file", "d.db"], cwd: folder.path });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("has several tables (d.a, d.b)") });
  });
});

test.each([
  [["add"], "add takes one name, the one of the endpoint"],
  [["add", "a", "b", "--table", "t"], "add takes one name, the one of the endpoint"],
  [["add", "a"], "add takes one of --sql, --table and --file"],
  [["add", "a", "--sql", "a.sql", "--table", "t"], "add takes one of --sql, --table and --file"],
])("wrong usage: %j", async (args, message) => {
  expect(await runHere({}, { args })).toEqual({
    code: 2,
    stdout: "",
    stderr: `eider: ${message}\nTry: eider --help\n`,
  });
});

test("a project with problems: they are printed, and nothing is written", async () => {
  await using folder = await folderWith({ ...PROJECT, "eider.yaml": `${MAIN}nonsense: 1\n`, "q.sql": "SELECT 1" });
  const result = await runHere({}, { args: ["add", "x", "--sql", "q.sql"], cwd: folder.path });
  expect(result).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^eider\.yaml:\d+:1: nonsense: /),
  });
  expect(await readdir(join(folder.path, "endpoints"))).toEqual(["readme.txt"]);
});
