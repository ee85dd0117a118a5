// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references in YAML, not in TypeScript
import { expect, test } from "vitest";
import { projectFolder } from "../../test/project-folder.ts";
import { loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";

const MAIN = "template: {environment-whitelist: ['[A-Z]+']}\nconnections: {db: {}, dev: {}, prod: {}}\n";

async function connectionsOf(files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
  using folder = projectFolder({ "eider.yaml": MAIN, "a.sql": "SELECT 1", ...files });
  const { project, problems } = await loadProject({ cwd: folder.path, env, overrides: {} });
  expect(problems.map(formatProblem)).toEqual([]);
  return project?.endpoints[0]?.connections.map(({ name }) => name);
}

const HEAD = "url-path: /a\ntemplate-source: a.sql\n";
const SHARED = "connection: [db]\nconnection-dev: [dev]\nconnection-prod: [prod, db]\n";

test.each([
  ["its own line", "{{include:connection from shared.yaml}}\n", ["db"]],
  ["a line with a comment", "{{include:connection from ./shared.yaml}}  # why\n", ["db"]],
  ["blanks inside", "{{ include:connection  from  shared.yaml }}\n", ["db"]],
  ["CRLF", "{{include:connection from shared.yaml}}\r\n", ["db"]],
  ["a variant under its base key", "{{include:connection-dev from shared.yaml}}\n", ["dev"]],
  ["the value of a key", "connection: {{include:connection-prod from shared.yaml}}\n", ["prod", "db"]],
  ["the value on the next line", "connection:\n  {{include:connection-prod from shared.yaml}}\n", ["prod", "db"]],
  ["the whole file", "{{include from shared.yaml}}\n", ["db"]],
  ["a comment", "# {{include:auth from nowhere.yaml}}\nconnection: db # {{include:x from y}}\n", ["db"]],
])("%s", async (_, directive, expected) => {
  expect(await connectionsOf({ "a.yaml": `${HEAD}${directive}`, "shared.yaml": SHARED })).toEqual(expected);
});

test("the directive may be the first line", async () => {
  const files = { "a.yaml": `{{include:connection from shared.yaml}}\n${HEAD}`, "shared.yaml": SHARED };
  expect(await connectionsOf(files)).toEqual(["db"]);
});

test("includes nest, each path counted from its own file", async () => {
  const files = {
    "a.yaml": `${HEAD}{{include:connection from lib/one.yaml}}\n`,
    "lib/one.yaml": "connection: {{include:connection-x from deep/two.yaml}}\n",
    "lib/deep/two.yaml": "connection-x: {{include:connection-dev from ../../shared.yaml}}\n",
    "shared.yaml": SHARED,
  };
  expect(await connectionsOf(files)).toEqual(["dev"]);
});

test("an included file may include on a line of its own", async () => {
  const files = {
    "a.yaml": `${HEAD}{{include:connection from one.yaml}}\n`,
    "one.yaml": "{{include:connection-dev from shared.yaml}}\n",
    "shared.yaml": SHARED,
  };
  expect(await connectionsOf(files)).toEqual(["dev"]);
});

test("only what is included is read: a variant may name a variable that nobody set", async () => {
  const shared = `${SHARED}auth-prod: {jwt-secret: '\${SECRET}'}\n`;
  const files = { "a.yaml": `${HEAD}{{include:connection from shared.yaml}}\n`, "shared.yaml": shared };
  expect(await connectionsOf(files)).toEqual(["db"]);
});

test("environment references work in the path and in what is included", async () => {
  const files = {
    "a.yaml": `${HEAD}{{include:connection from \${WHERE}/{{env.NAME}}.yaml}}\n`,
    "lib/x.yaml": "connection: ['${WHICH}']\n",
  };
  expect(await connectionsOf(files, { WHERE: "lib", NAME: "x", WHICH: "prod" })).toEqual(["prod"]);
});

const conditional = `${HEAD}{{include:connection-prod from shared.yaml if env.PROD}}
{{include:connection-dev from shared.yaml if !env.PROD}}
`;

test.each([
  [{ PROD: "1" }, ["prod", "db"]],
  [{ PROD: "" }, ["dev"]],
  [{}, ["dev"]],
])("conditions with %j", async (env: Record<string, string>, expected) => {
  expect(await connectionsOf({ "a.yaml": conditional, "shared.yaml": SHARED }, env)).toEqual(expected);
});

test("a value whose condition does not hold is not there", async () => {
  const yaml = `${HEAD}connection: db\ncache: {{include:cache from nowhere.yaml if env.NONE}}\n`;
  expect(await connectionsOf({ "a.yaml": yaml })).toEqual(["db"]);
});

test("the whole file brings in a variant when it is the only one of its kind", async () => {
  const files = { "a.yaml": `${HEAD}{{include from one.yaml}}\n`, "one.yaml": "connection-dev: [dev]\n" };
  expect(await connectionsOf(files)).toEqual(["dev"]);
});

test("the main file includes too", async () => {
  using folder = projectFolder({
    "eider.yaml": "{{include:heartbeat from shared.yaml}}\n",
    "shared.yaml": "heartbeat: {worker-interval: 5}\n",
  });
  const { project, problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  expect(problems).toEqual([]);
  expect(project?.main.observability.heartbeatMs).toBe(5_000);
});
