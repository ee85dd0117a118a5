// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references in YAML, not in TypeScript
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectFolder } from "../../test/project-folder.ts";
import { type LoadOptions, loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";
import type { Project } from "./project.ts";

const MAIN = "connections:\n  db: {}\n";
const ENDPOINT = "url-path: /a\ntemplate-source: a.sql\nconnection: [db]\n";
const SQL = "SELECT 1 AS n\n";

type Files = Readonly<Record<string, string | Uint8Array>>;

async function load(files: Files, options: Partial<LoadOptions> = {}) {
  using folder = projectFolder({ "eider.yaml": MAIN, "a.sql": SQL, ...files });
  const { project, problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {}, ...options });
  return { project, problems: problems.map(formatProblem), folder: folder.path };
}

async function loaded(files: Files, options: Partial<LoadOptions> = {}): Promise<Project> {
  const { project, problems } = await load(files, options);
  expect(problems).toEqual([]);
  if (project === undefined) throw new Error("no project");
  return project;
}

test("defaults of the main file", async () => {
  const { main } = await loaded({});
  expect(main).toMatchObject({
    name: "eider",
    description: "",
    version: "1.0.0",
    http: { host: "127.0.0.1", port: 8080 },
    log: { level: "info", format: undefined },
    limits: { maxBodyBytes: 1_048_576, maxPageSize: 10_000, defaultPageSize: 100, queryTimeoutMs: 30_000 },
  });
  expect(main.templatePath).toBe(main.folder);
});

test("flapi.yaml is taken when there is no eider.yaml, and eider.yaml wins", async () => {
  using folder = projectFolder({ "flapi.yaml": "project-name: relative\n" });
  const options = { cwd: folder.path, env: {}, overrides: {} };
  expect((await loadProject(options)).project?.main.name).toBe("relative");
  using both = projectFolder({ "flapi.yaml": "project-name: relative\n", "eider.yaml": "project-name: own\n" });
  const { project } = await loadProject({ ...options, cwd: both.path });
  expect(project?.main.name).toBe("own");
  expect(project?.endpoints).toEqual([]);
});

test("flag beats environment, environment beats file", async () => {
  const files = { "eider.yaml": `http-port: 1111\nhttp-host: file\n${MAIN}` };
  const env = { EIDER_PORT: "2222", EIDER_HOST: "env" };
  expect((await loaded(files)).main.http).toEqual({ port: 1111, host: "file" });
  expect((await loaded(files, { env })).main.http).toEqual({ port: 2222, host: "env" });
  const overrides = { port: 0, host: "flag" };
  expect((await loaded(files, { env, overrides })).main.http).toEqual({ port: 0, host: "flag" });
});

test("plain scalars keep their source where text is wanted", async () => {
  const { main, endpoints } = await loaded({
    "eider.yaml": "project-version: 1.10\nconnections:\n  db:\n    properties: {zip: 01234, on: true, nil: ~}\n",
    "a.yaml": `${ENDPOINT}request: [{field-name: q, field-in: query, default: 007, required: "true"}]\n`,
  });
  expect(main.version).toBe("1.10");
  expect([...(main.connections.get("db")?.properties ?? [])]).toEqual([
    ["zip", "01234"],
    ["on", "true"],
    ["nil", "~"],
  ]);
  expect(endpoints[0]?.parameters[0]).toMatchObject({ default: "007", required: true });
});

test("property paths and db_path are meant from the main file", async () => {
  const { main } = await loaded({
    "eider.yaml":
      "duckdb: {db_path: data/x.db, threads: 2, allowed_directories: [/a, /b]}\nconnections:\n  db: {properties: {a: ./a.csv, b: ../b.csv, c: c.csv}}\n",
  });
  expect(main.duckdb.path).toBe(join(main.folder, "data/x.db"));
  expect(Object.fromEntries(main.duckdb.settings)).toEqual({ threads: "2", allowed_directories: "['/a', '/b']" });
  const properties = Object.fromEntries(main.connections.get("db")?.properties ?? []);
  expect(properties).toEqual({ a: join(main.folder, "a.csv"), b: join(main.folder, "../b.csv"), c: "c.csv" });
});

test("options of a typed connection are kept as written", async () => {
  const { main } = await loaded({
    "eider.yaml": "connections:\n  db: {type: postgres, host: h, port: 05432, lazy: false, read-only: true}\n",
  });
  const db = main.connections.get("db");
  expect(db).toMatchObject({ type: "postgres", lazy: false, readOnly: true });
  expect(db?.options).toEqual({ host: "h", port: "05432" });
});

test("paths in options of a typed connection are meant from the main file", async () => {
  const { main } = await loaded({ "eider.yaml": "connections:\n  db: {type: sqlite, path: ./x.db}\n" });
  expect(main.connections.get("db")?.options).toEqual({ path: join(main.folder, "x.db") });
});

test("an endpoint with everything", async () => {
  const { endpoints } = await loaded({
    "eider.yaml": `${MAIN}mcp: {}\n`,
    "v1/x.yml": `url-path: /x/:id/\nmethod: put\nsummary: S\ndescription: D\ntags: one\ndeprecated: true
template-source: x.sql\nconnection: db\nwith-pagination: false\nrequest-fields-validation: true
operation: {type: READ, returns-data: true, transaction: false, validate-before-write: false}
request:\n  - {field-name: id, field-in: path, required: true, validators: [{type: int, min: 1}]}
mcp-tool: {name: get_x, description: Gets x}\n`,
    "v1/x.sql": SQL,
  });
  expect(endpoints[0]).toMatchObject({
    file: "v1/x.yml",
    rest: { method: "PUT", urlPath: "/x/:id" },
    mcp: { kind: "tool", name: "get_x", mimeType: "application/json", method: "PUT" },
    tags: ["one"],
    deprecated: true,
    template: { file: "v1/x.sql", text: SQL },
    paginated: false,
    rejectsUnknownParams: true,
    operation: { kind: "read", returnsData: true, transaction: false, validateBeforeWrite: false },
  });
  expect(endpoints[0]?.locate(["request", 0, "validators"])).toEqual({ file: "v1/x.yml", line: 13, column: 54 });
});

test("a template is looked for in template.path first, then beside its YAML", async () => {
  const main = `template: {path: sqls}\n${MAIN}`;
  const files = { "eider.yaml": main, "sqls/sub/a.yaml": ENDPOINT, "sqls/sub/a.sql": "SELECT 'beside'" };
  expect((await loaded(files)).endpoints[0]?.template?.text).toBe("SELECT 'beside'");
  const both = { ...files, "sqls/a.sql": "SELECT 'first'" };
  expect((await loaded(both)).endpoints[0]?.template?.text).toBe("SELECT 'first'");
});

test("'..' may lead from a sub-folder into template.path", async () => {
  const files = { "sub/a.yaml": ENDPOINT.replace("a.sql", "../a.sql") };
  expect((await loaded(files)).endpoints[0]?.template?.file).toBe("a.sql");
});

test("dot folders, node_modules, other files and fragments are no endpoints; the order is that of the names", async () => {
  const at = (path: string) => ENDPOINT.replace("/a", path);
  const { endpoints } = await loaded({
    "b.yaml": at("/b"),
    "a/z.yml": at("/z"),
    ".git/x.yaml": at("/no"),
    "node_modules/y.yaml": at("/no"),
    "c.yaml.bak": at("/no"),
    "shared.yaml": "auth: {enabled: true}\nauth-dev: {password: '${NOT_SET}'}\n",
  });
  expect(endpoints.map(({ file }) => file)).toEqual(["a/z.yml", "b.yaml"]);
});

test.each([
  ["an empty file", ""],
  ["comments only", "# nothing\n"],
  ["a list", "- a\n- b\n"],
  ["several documents", "---\na: 1\n---\nb: 2\n"],
  ["text", "just a text\n"],
  ["a number", "42\n"],
  ["a template of another tool", "a: {{ .Values.x }}\n  b: 1\n"],
  ["wrong indentation", "a: 1\n b: 2\n"],
  ["a key that is there twice", "a: 1\na: 2\n"],
  ["a tab", "\tx: 1\n"],
])("%s among the endpoints stops nothing", async (_, text) => {
  const { endpoints } = await loaded({ "other.yaml": text, "a.yaml": ENDPOINT });
  expect(endpoints.map(({ file }) => file)).toEqual(["a.yaml"]);
});

test.each([
  ["url-path: /x\n b: 2\n", /^other\.yaml:1:11: not valid YAML/],
  ["---\na: 1\n---\nmcp-tool: { name: x }\n", /^other\.yaml:3:1: a second YAML document/],
])("a broken endpoint is a problem: %j", async (text, expected) => {
  const { problems } = await load({ "other.yaml": text, "a.yaml": ENDPOINT });
  expect(problems).toContainEqual(expect.stringMatching(expected));
});

test("a file that is skipped is a problem where it is included", async () => {
  const { problems } = await load({ "shared.yaml": "", "a.yaml": `${ENDPOINT}{{include:auth from shared.yaml}}\n` });
  expect(problems).toEqual([expect.stringMatching(/^shared\.yaml:1:1: the file is empty/)]);
});

test("names with a prototype's names are names", async () => {
  const { main } = await loaded({
    "eider.yaml": "connections: {constructor: {}, toString: {properties: {valueOf: x}}}\n",
  });
  expect([...main.connections.keys()]).toEqual(["constructor", "toString"]);
  expect(main.connections.get("toString")?.properties.get("valueOf")).toBe("x");
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("what is written under the name of a credential is one, wherever it came from", async () => {
  const { main } = await loaded({
    "eider.yaml": "connections: {a: {properties: {db_password: hunter22, host: db, api-key: k123456}}}\n",
  });
  expect(main.connections.get("a")?.secrets).toEqual(["hunter22", "k123456"]);
});

test("two secrets in one table are refused, one secret in two blocks is not", async () => {
  const secret = (name: string, table: string) =>
    `auth: { type: basic, from-aws-secretmanager: { secret-name: ${name}, secret-table: ${table} } }\n`;
  using folder = projectFolder({
    "eider.yaml": MAIN + secret("one", "users"),
    "a.yaml": ENDPOINT + secret("one", "users"),
    "b.yaml": ENDPOINT.replace("/a", "/b") + secret("two", "Users"),
    "c.yaml": ENDPOINT.replace("/a", "/c") + secret("two", "others"),
    "a.sql": SQL,
  });
  const { problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  expect(problems.map(formatProblem)).toEqual([
    expect.stringMatching(/^b\.yaml:\d+:\d+: .*another secret is put into the table 'Users' already; name another$/),
  ]);
});

test("two endpoints may share a template, which is read once", async () => {
  const { endpoints } = await loaded({ "a.yaml": ENDPOINT, "b.yaml": ENDPOINT.replace("/a", "/b") });
  expect(endpoints[0]?.template).toBe(endpoints[1]?.template);
});

test("--config may name a file elsewhere; its own paths count from there", async () => {
  using folder = projectFolder({ "conf/my.yaml": MAIN, "conf/a.yaml": ENDPOINT, "conf/a.sql": SQL, "cwd/keep": "" });
  const cwd = join(folder.path, "cwd");
  const { project, problems } = await loadProject({ cwd, file: "../conf/my.yaml", env: {}, overrides: {} });
  expect(problems).toEqual([]);
  expect(project?.endpoints[0]?.file).toBe(join(folder.path, "conf/a.yaml"));
});

test("a template may be a link that stays inside", async () => {
  using folder = projectFolder({ "eider.yaml": MAIN, "a.yaml": ENDPOINT, "real.sql": SQL });
  symlinkSync("real.sql", join(folder.path, "a.sql"));
  const { project } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  expect(project?.endpoints[0]?.template?.text).toBe(SQL);
});

test("a file without permission is a problem of its own", async () => {
  using folder = projectFolder({ "eider.yaml": MAIN, "a.yaml": ENDPOINT });
  chmodSync(folder.path, 0o755);
  chmodSync(join(folder.path, "a.yaml"), 0);
  const { problems } = await asNobody(() => loadProject({ cwd: folder.path, env: {}, overrides: {} }));
  expect(problems.map(formatProblem)).toEqual(["a.yaml:1:1: cannot be read: permission denied"]);
});

/** The superuser may read everything, so it becomes somebody else for a moment. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

test.each([
  ["${X:-d}", "'${X:-d}' is no environment reference; write ${X}; there are no defaults here, so set the variable"],
  ["${X-d}", "'${X-d}' is no environment reference; write ${X}; there are no defaults here, so set the variable"],
  ["${ X }", "'${ X }' is no environment reference; write ${X}"],
  ["${env.X}", "'${env.X}' is no environment reference; write ${X}"],
  ["{{env:X}}", "'{{env:X}}' is no environment reference; write ${X}"],
  ["a {{ JWT_SECRET }} b", "'{{ JWT_SECRET }}' is no environment reference; write ${JWT_SECRET}"],
])("%j, which is nearly an environment reference, is never taken literally", async (value, message) => {
  const main = (quoted: string): string => `connections: {a: {properties: {b: ${quoted}}}}\n`;
  const { problems } = await load({ "eider.yaml": main(JSON.stringify(value)) }, { env: { X: "1" } });
  expect(problems).toEqual([`eider.yaml:1:35: connections.a.properties.b: ${message}`]);
});

test.each(["price $5", "$x", "^[a-z]{2}$", "{{name}}", "$5.00 {}", "a$B"])("%j is a text", async (value) => {
  const { main } = await loaded({ "eider.yaml": `connections: {a: {properties: {b: ${JSON.stringify(value)}}}}\n` });
  expect(main.connections.get("a")?.properties.get("b")).toBe(value);
});

test("a variable as a shell writes it is taken literally, with a warning", async () => {
  const { problems, project } = await load({ "eider.yaml": "connections: {a: {properties: {b: $TOKEN}}}\n" });
  expect(problems).toEqual([
    "eider.yaml:1:35: warning: connections.a.properties.b: '$TOKEN' is taken literally; for the environment variable, write ${TOKEN}",
  ]);
  expect(project?.main.connections.get("a")?.properties.get("b")).toBe("$TOKEN");
});
