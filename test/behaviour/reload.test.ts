import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type LoadedParts, loadProject } from "../../src/config/load-project.ts";
import { defaultMcpSettings } from "../../src/config/mcp-config.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { type McpEndpoints, openMcpEndpoints } from "../../src/mcp/endpoints/open-mcp-endpoints.ts";
import { canShareState, openService, reopenService, type Service } from "../../src/service/service.ts";
import { statement } from "../../src/sql/statement.ts";
import { testSelf } from "../self.ts";
import { type Files, writeFiles } from "../service.ts";

const MAIN = "connections:\n  db:\n    init: CREATE TABLE t AS SELECT 1 AS id, 'x' AS name\n";

function at(name: string, sql: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [db]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const PROJECT: Files = { ...at("one", "SELECT id FROM t"), ...at("two", "SELECT name FROM t") };

/** A project that can be reloaded, as `eider serve` does. */
async function openProject(files: Files = {}) {
  const folder = await writeFiles({ "eider.yaml": MAIN, ...PROJECT, ...files });
  const opening = { report: () => {}, connect: true, ...testSelf, env: {}, purpose: "serve" } as const;
  let previous: LoadedParts | undefined;
  let service: Service | undefined;

  async function load() {
    const loaded = await loadProject({ cwd: folder, env: {}, overrides: {}, previous });
    previous = loaded.parts;
    if (loaded.project === undefined) throw new Error(loaded.problems.map(formatProblem).join("\n"));
    return loaded.project;
  }

  const current = (): Service => {
    if (service === undefined) throw new Error("the project could not be opened");
    return service;
  };
  const first = await openService(await load(), opening);
  ({ service } = first);
  return {
    current,
    problems: first.problems.map(formatProblem),
    save: (changed: Files) =>
      Promise.all(Object.entries(changed).map(([name, text]) => writeFile(join(folder, name), text))),
    remove: (name: string) => rm(join(folder, name)),
    async run(sql: string) {
      const signal = new AbortController().signal;
      await current().engine.write({
        connections: ["db"],
        statements: [statement(sql)],
        transaction: true,
        returnsData: false,
        signal,
      });
    },
    /** Whether the next reload would reopen the database. */
    reopensDatabase: async () => !canShareState(await load(), current()),
    open: (connection: string) => current().connectionStatus.open([connection]),
    /** Returns the problems, the SQL that was planned, and the paths of the endpoints that are not the same objects as before. */
    async reload() {
      const before = current();
      const plan = vi.spyOn(before.engine, "plan");
      const project = await load();
      const canShare = canShareState(project, before);
      if (!canShare) await before.close();
      const opened = canShare ? await reopenService(project, before, opening) : await openService(project, opening);
      const planned = new Set(plan.mock.calls.flatMap(([statements]) => statements.map(({ sql }) => sql.trim())));
      plan.mockRestore();
      const found = { problems: opened.problems.map(formatProblem), planned: [...planned] };
      if (opened.service === undefined) return { ...found, changed: [] };
      service = opened.service;
      if (canShare) before.retire(service);
      const known = new Set(before.endpoints);
      const changed = service.endpoints.filter((endpoint) => !known.has(endpoint)).map(({ route }) => route?.path);
      return { ...found, changed };
    },
    async [Symbol.asyncDispose]() {
      await service?.close();
      await rm(folder, { recursive: true });
    },
  };
}

const NOTHING = { problems: [], planned: [], changed: [] };

test("a reload compiles and verifies only what has changed", async () => {
  await using project = await openProject();
  expect(await project.reload()).toEqual(NOTHING);
  await project.save({ "one.sql": "SELECT id + 1 AS id FROM t" });
  expect(await project.reload()).toEqual({ ...NOTHING, planned: ["SELECT id + 1 AS id FROM t"], changed: ["/one"] });
  await project.save(at("three", "SELECT 3"));
  expect(await project.reload()).toEqual({ ...NOTHING, planned: ["SELECT 3"], changed: ["/three"] });
  await project.remove("three.yaml");
  expect(await project.reload()).toEqual(NOTHING);
  await project.save({ "eider.yaml": `${MAIN}project-name: New\n` });
  expect((await project.reload()).changed).toEqual(["/one", "/two"]);
});

test("after a reload with problems, what has not changed since the served version is still known", async () => {
  await using project = await openProject();
  await project.save({ "one.sql": "SELECT nosuch FROM t" });
  const refused = await project.reload();
  expect(refused.problems).toEqual([expect.stringMatching(/^one\.sql:1:8: .*nosuch/)]);
  expect(await project.reload()).toEqual(refused);
  await project.save({ "one.sql": "SELECT id FROM t" });
  expect(await project.reload()).toMatchObject({ problems: [], planned: ["SELECT id FROM t"], changed: ["/one"] });
});

test("a change of rows verifies nothing again, a change of tables everything", async () => {
  await using project = await openProject();
  await project.run("INSERT INTO t VALUES (2, 'y')");
  expect(await project.reload()).toEqual(NOTHING);
  await project.run("ALTER TABLE t RENAME name TO title");
  const refused = await project.reload();
  expect(refused.problems).toEqual([expect.stringMatching(/^two\.sql:1:8: .*"name" not found/)]);
  expect(refused.planned).toEqual(["SELECT id FROM t", "SELECT name FROM t"]);
  await project.run("ALTER TABLE t RENAME title TO name");
  expect(await project.reload()).toMatchObject({ problems: [], planned: refused.planned });
  expect(await project.reload()).toEqual(NOTHING);
});

test("a changed init reopens the database, and everything is verified", async () => {
  const creating = (column: string): string =>
    `connections:\n  db:\n    init: CREATE TABLE t AS SELECT 1 AS id, 'x' AS ${column}\n`;
  await using project = await openProject({ "eider.yaml": creating("name") });
  await project.save({ "eider.yaml": creating("title") });
  expect((await project.reload()).problems).toEqual([expect.stringMatching(/^two\.sql:1:8: .*"name" not found/)]);
});

test.each<[reopens: boolean, what: string, changed: Files]>([
  [true, "duckdb", { "eider.yaml": `${MAIN}duckdb: { threads: 1 }\n` }],
  [true, "a connection", { "eider.yaml": `${MAIN}  other: {}\n` }],
  [false, "its properties", { "eider.yaml": `${MAIN}    properties: { region: north }\n` }],
  [true, "credentials in its properties", { "eider.yaml": `${MAIN}    properties: { password: hunter2 }\n` }],
  [true, "cache", { "eider.yaml": `${MAIN}cache: { max-bytes: 1MiB }\n` }],
  [true, "limits.max-value-bytes", { "eider.yaml": `${MAIN}limits: { max-value-bytes: 1MiB }\n` }],
  [false, "limits.max-page-size", { "eider.yaml": `${MAIN}limits: { max-page-size: 7 }\n` }],
  [
    true,
    "users from AWS Secrets Manager",
    {
      "eider.yaml": `${MAIN}auth: { type: basic, from-aws-secretmanager: { secret-name: s, secret-table: s, region: r } }\n`,
    },
  ],
  [true, "a setting that a write changes", at("set", "SET threads = 1", "method: POST\noperation: { allow: [set] }\n")],
  [false, "an endpoint", at("three", "SELECT 3")],
])("a reload reopens the database: %s, after a change to %s", async (reopens, _, changed) => {
  await using project = await openProject();
  await project.save(changed);
  expect(await project.reopensDatabase()).toBe(reopens);
});

test("an init that runs late may change the tables of other connections", async () => {
  await using project = await openProject({
    "eider.yaml": `${MAIN}  late:\n    init: ALTER TABLE missing ADD COLUMN a INTEGER; ALTER TABLE t DROP COLUMN name\n`,
  });
  expect(project.problems).toEqual([expect.stringContaining("connection 'late' cannot be reached")]);
  expect(await project.reload()).toEqual(NOTHING);
  await project.run("CREATE TABLE missing (b INTEGER)");
  expect((await project.reload()).problems).toEqual([]);
  await project.open("late");
  expect((await project.reload()).problems).toEqual([expect.stringMatching(/^two\.sql:1:8: .*"name" not found/)]);
});

test("warnings of unchanged endpoints are repeated", async () => {
  const file = "request: [{ field-name: f, field-in: query, validators: [{ type: enum, allowedValues: [a, b] }] }]\n";
  const parameters = "request: [{ field-name: a, field-in: query }, { field-name: b, field-in: query }]\n";
  await using project = await openProject({
    // From the template alone, and from the database.
    ...at("compiled", "SELECT * FROM glob('{{{params.f}}}')", file),
    ...at("planned", "SELECT 1 {{#params.a}}{{#params.b}}+ nosuch{{/params.b}}{{/params.a}}", parameters),
  });
  expect(project.problems).toEqual([
    expect.stringMatching(/^compiled\.sql:1:\d+: warning: a client value would choose the file/),
    expect.stringMatching(/^planned\.sql:1:38: warning: .*"nosuch" was not found/),
  ]);
  for (const _ of [1, 2]) expect((await project.reload()).problems).toEqual(project.problems);
  await project.save({ "one.sql": "SELECT 2 AS id" });
  expect((await project.reload()).problems).toEqual(project.problems);
});

test("a macro that passes values on is noticed in unchanged endpoints", async () => {
  const takesText = "request: [{ field-name: q, field-in: query, required: true, validators: [{ type: string }] }]\n";
  await using project = await openProject({
    ...at("find", "SELECT * FROM rows_of({{params.q}})", takesText),
    ...at("make", "CREATE OR REPLACE MACRO rows_of(q) AS TABLE SELECT q AS q", "method: POST\n"),
  });
  expect(project.problems).toEqual([]);
  await project.run("CREATE MACRO rows_of(q) AS TABLE SELECT q AS q");
  expect((await project.reload()).problems).toEqual([]);
  await project.save({ "make.sql": "CREATE OR REPLACE MACRO rows_of(q) AS TABLE SELECT * FROM query(q)" });
  expect((await project.reload()).problems).toEqual([expect.stringMatching(/^find\.sql:1:\d+: /)]);
});

test("the columns of a cache table concern unchanged endpoints", async () => {
  const cache = "cache: { schema: analytics, table: sales, template-file: fill.sql, schedule: 1h }\n";
  const table = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
  await using project = await openProject({
    ...at("sales", `SELECT id FROM ${table}`, cache),
    ...at("total", "SELECT sum(id) AS n FROM cache.analytics.sales"),
    "fill.sql": "SELECT id FROM t",
  });
  expect(project.problems).toEqual([]);
  expect((await project.reload()).problems).toEqual([]);
  await project.save({ "fill.sql": "SELECT id AS other FROM t" });
  expect((await project.reload()).problems).toEqual([
    expect.stringMatching(/^sales\.sql:1:8: /),
    expect.stringMatching(/^total\.sql:1:12: /),
  ]);
});

test("MCP describes the columns of a tool again only if it or a table has changed", async () => {
  const tool = (name: string): string => `mcp-tool: { name: ${name}, description: A tool }\n`;
  await using project = await openProject({
    "eider.yaml": `${MAIN}mcp: {}\n`,
    ...at("one", "SELECT id FROM t", tool("one")),
    ...at("two", "SELECT name FROM t", tool("two")),
  });
  let previous: McpEndpoints | undefined;
  const describedTools = async (): Promise<readonly string[]> => {
    const service = project.current();
    const describe = vi.spyOn(service.engine, "describe");
    const options = {
      settings: defaultMcpSettings(),
      observers: [],
      report: () => {},
      now: () => new Date(),
      previous,
    };
    previous = await openMcpEndpoints(service, options);
    const described = describe.mock.calls.map(([statements]) => statements[0]?.sql ?? "");
    describe.mockRestore();
    return described;
  };
  expect(await describedTools()).toEqual(["SELECT id FROM t", "SELECT name FROM t"]);
  await project.save({ "two.sql": "SELECT name AS title FROM t" });
  await project.reload();
  expect(await describedTools()).toEqual(["SELECT name AS title FROM t"]);
  expect(previous?.service.lists.tools.join()).toMatch(/"id".*"title"/);
  await project.run("ALTER TABLE t ALTER id TYPE VARCHAR");
  await project.reload();
  expect(await describedTools()).toEqual(["SELECT id FROM t", "SELECT name AS title FROM t"]);
});

test("an endpoint that waits for a table is verified again", async () => {
  await using project = await openProject({
    ...at("notes", "SELECT text FROM notes"),
    ...at("make", "CREATE TABLE notes (title VARCHAR)", "method: POST\n"),
  });
  expect((await project.reload()).planned).toContain("SELECT text FROM notes");
  await project.run("CREATE TABLE notes (title VARCHAR)");
  expect((await project.reload()).problems).toEqual([expect.stringMatching(/^notes\.sql:1:8: .*"text" not found/)]);
});
