// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references in YAML, not in TypeScript
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { projectFolder } from "../../test/project-folder.ts";
import { type LoadedParts, loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";
import type { EndpointConfig } from "./project.ts";

const endpoint = (name: string, yaml: string, template = `${name}.sql`): string =>
  `url-path: /${name}\ntemplate-source: ${template}\n${yaml}`;

/** a and b share a template; b and c include a file, which includes another. */
const PROJECT: Readonly<Record<string, string>> = {
  "eider.yaml":
    "template: {path: sqls, environment-whitelist: ['[A-Z]+']}\nconnections: {db: {}, other: {}}\nmcp: {}\nlog: {level: error}\n",
  ".env": "REGION=north\n",
  "sqls/a.yaml": endpoint("a", "connection: db\n", "shared.sql"),
  "sqls/b.yaml": endpoint("b", "{{include:connection from parts.yaml}}\n", "shared.sql"),
  "sqls/c.yaml": endpoint("c", "{{include from parts.yaml}}\n"),
  "sqls/d.yaml": endpoint("d", "connection: db\nsummary: ${REGION}\n"),
  "sqls/parts.yaml": "{{include:connection from deep.yaml}}\n",
  "sqls/deep.yaml": "connection: [db]\n",
  "sqls/shared.sql": "SELECT 1\n",
  "sqls/c.sql": "SELECT 2\n",
  "sqls/d.sql": "SELECT 3\n",
};

function openProject(files: Readonly<Record<string, string>> = {}) {
  const folder = projectFolder({ ...PROJECT, ...files });
  let env: Readonly<Record<string, string>> = {};
  let previous: LoadedParts | undefined;
  let known = new Map<string, EndpointConfig>();
  return {
    path: (name: string) => join(folder.path, name),
    setEnvironment(variables: Readonly<Record<string, string>>) {
      env = variables;
    },
    save(changed: Readonly<Record<string, string>>) {
      for (const [name, text] of Object.entries(changed)) {
        mkdirSync(dirname(join(folder.path, name)), { recursive: true });
        writeFileSync(join(folder.path, name), text);
      }
    },
    /** Loads the project again. Returns the endpoints that were read again, and the problems, which a full load finds too. */
    async reload() {
      const options = { cwd: folder.path, env, overrides: {} };
      const full = await loadProject(options);
      const { project, problems, parts, files: requested } = await loadProject({ ...options, previous });
      previous = parts;
      expect(problems).toEqual(full.problems);
      expect(JSON.stringify(project)).toEqual(JSON.stringify(full.project));
      expect(requested).toEqual(expect.arrayContaining([...full.files]));
      const endpoints = new Map((project?.endpoints ?? []).map((config) => [config.rest?.urlPath ?? "", config]));
      const read = [...endpoints].flatMap(([path, config]) => (known.get(path) === config ? [] : path));
      if (project !== undefined) known = endpoints;
      return { read, problems: problems.map(formatProblem), main: project?.main };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const ALL = ["/a", "/b", "/c", "/d"];

test("what has not changed stays the same object", async () => {
  using project = openProject();
  const first = await project.reload();
  expect(first).toMatchObject({ read: ALL, problems: [] });
  const second = await project.reload();
  expect(second.read).toEqual([]);
  expect(second.main).toBe(first.main);
});

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ["a template", { "sqls/c.sql": "SELECT 22\n" }, ["/c"]],
  ["a template that two endpoints share", { "sqls/shared.sql": "SELECT 11\n" }, ["/a", "/b"]],
  ["an endpoint", { "sqls/d.yaml": endpoint("d", "connection: other\n") }, ["/d"]],
  ["an included file", { "sqls/parts.yaml": "connection: other\n" }, ["/b", "/c"]],
  ["a file that an included file includes", { "sqls/deep.yaml": "connection: [other]\n" }, ["/b", "/c"]],
  ["the environment file", { ".env": "REGION=south\n" }, ALL],
  ["the main file", { "eider.yaml": `${PROJECT["eider.yaml"]}project-name: New\n` }, ALL],
  ["a file of another tool", { "sqls/other.yaml": "services: {}\n", "sqls/note.sql": "SELECT" }, []],
  ["a new endpoint", { "sqls/e.yaml": endpoint("e", "connection: db\n", "c.sql") }, ["/e"]],
])("a change of %s", async (_, changed, read) => {
  using project = openProject();
  await project.reload();
  project.save(changed);
  expect(await project.reload()).toMatchObject({ read, problems: [] });
  expect((await project.reload()).read).toEqual([]);
});

test("a variable of the process", async () => {
  using project = openProject();
  await project.reload();
  project.setEnvironment({ REGION: "west" });
  expect((await project.reload()).read).toEqual(ALL);
});

test("deleted and renamed files", async () => {
  using project = openProject();
  await project.reload();
  rmSync(project.path("sqls/d.yaml"));
  expect(await project.reload()).toMatchObject({ read: [], problems: [] });
  renameSync(project.path("sqls/a.yaml"), project.path("sqls/z.yaml"));
  expect(await project.reload()).toMatchObject({ read: ["/a"], problems: [] });
  rmSync(project.path("sqls/c.sql"));
  expect((await project.reload()).problems).toEqual([
    "sqls/c.yaml:2:18: template-source: Template file not found: c.sql",
  ]);
  rmSync(project.path("sqls/deep.yaml"));
  expect((await project.reload()).problems).toHaveLength(2);
  project.save({ "sqls/c.sql": "SELECT 2\n", "sqls/deep.yaml": "connection: [db]\n" });
  expect((await project.reload()).problems).toEqual([]);
});

test("a template that appears where it is looked for first", async () => {
  using project = openProject({ "sqls/sub/s.yaml": endpoint("s", "connection: db\n"), "sqls/sub/s.sql": "SELECT 1" });
  await project.reload();
  project.save({ "sqls/s.sql": "SELECT 2" });
  expect((await project.reload()).read).toEqual(["/s"]);
});

test("a template that becomes a link out of the project", async () => {
  using project = openProject();
  await project.reload();
  const outside = projectFolder({ "c.sql": PROJECT["sqls/c.sql"] ?? "" });
  rmSync(project.path("sqls/c.sql"));
  symlinkSync(join(outside.path, "c.sql"), project.path("sqls/c.sql"));
  expect((await project.reload()).problems).toEqual([
    expect.stringContaining("the template 'c.sql' leaves template.path"),
  ]);
  outside[Symbol.dispose]();
});

test("problems of unchanged files are reported at every reload, in the same order", async () => {
  using project = openProject({
    "sqls/c.yaml": endpoint("c", "{{include:connection from parts.yaml}}\nsummery: x\nmethod: FETCH\n"),
    "sqls/parts.yaml": "{{include:connection from deep.yaml}}\n{{include from broken.yaml}}\n",
    "sqls/broken.yaml": "request: [1\n",
  });
  const { problems } = await project.reload();
  expect(problems).toHaveLength(3);
  expect((await project.reload()).problems).toEqual(problems);
  project.save({ "sqls/d.sql": "SELECT 33\n" });
  expect((await project.reload()).problems).toEqual(problems);
  project.save({ "sqls/d.yaml": "url-path: /d\n" });
  expect((await project.reload()).problems).toHaveLength(5);
});

test("problems of an included file are reported even if the first endpoint that includes it is deleted", async () => {
  using project = openProject({ "sqls/parts.yaml": "connection: [db\n" });
  const { problems } = await project.reload();
  rmSync(project.path("sqls/b.yaml"));
  expect((await project.reload()).problems).toEqual(problems);
  project.save({ "sqls/parts.yaml": PROJECT["sqls/parts.yaml"] ?? "", "sqls/deep.yaml": "connection: [none]\n" });
  expect((await project.reload()).problems).toEqual([expect.stringContaining("unknown connection 'none'")]);
});

test("a changed endpoint and unchanged ones are checked together", async () => {
  const tool = (name: string): string => `mcp-tool: { name: ${name}, description: A tool }\n`;
  const reads = "SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}\n";
  using project = openProject({
    "sqls/d.yaml": endpoint("d", `connection: db\n${tool("one")}`),
    "sqls/fill.yaml": endpoint(
      "fill",
      "connection: db\ncache: {table: sales, template-file: shared.sql, schedule: 1h}\n",
    ),
    "sqls/fill.sql": reads,
    "sqls/read.yaml": endpoint("read", "connection: db\ncache: {table: sales}\n"),
    "sqls/read.sql": reads,
  });
  expect((await project.reload()).problems).toEqual([]);
  project.save({ "sqls/e.yaml": `url-path: /a\ntemplate-source: c.sql\nconnection: db\n${tool("one")}` });
  expect((await project.reload()).problems).toEqual([
    expect.stringMatching(/^sqls\/e\.yaml:1:11: url-path: GET \/a is declared by sqls\/a\.yaml already/),
    expect.stringMatching(/^sqls\/e\.yaml:4:\d+: .*the tool 'one' is declared by sqls\/d\.yaml already/),
  ]);
  rmSync(project.path("sqls/e.yaml"));
  rmSync(project.path("sqls/fill.yaml"));
  expect((await project.reload()).problems).toEqual([
    expect.stringMatching(/^sqls\/read\.yaml:4:1: cache: no endpoint fills this table/),
  ]);
});
