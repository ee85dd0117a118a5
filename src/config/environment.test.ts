// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references in YAML, not in TypeScript
import { expect, test } from "vitest";
import { projectFolder } from "../../test/project-folder.ts";
import { compilePattern, openEnvironment } from "./environment.ts";
import { loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";

const env = {
  PORT: "9000",
  NAME: "eider: {a: 1} # not a comment\n- nor a list",
  HOST: "db.example.com",
  FLAG: "false",
  EMPTY: "",
  LOOP: "${NAME}",
};

async function mainOf(yaml: string) {
  using folder = projectFolder({ "eider.yaml": `template: {environment-whitelist: ['[A-Z]+']}\n${yaml}` });
  const { project, problems } = await loadProject({ cwd: folder.path, env, overrides: {} });
  expect(problems.map(formatProblem)).toEqual([]);
  return project?.main;
}

test.each([
  ["${NAME}", env.NAME],
  ["{{env.NAME}}", env.NAME],
  ["{{ env.NAME }}", env.NAME],
  ["{{{env.NAME}}}", env.NAME],
  ["'${NAME}'", env.NAME],
  ['"{{env.NAME}}"', env.NAME],
  ["https://${HOST}:{{env.PORT}}/x", "https://db.example.com:9000/x"],
  ["${HOST}${PORT}", "db.example.com9000"],
  ["a # ${MISSING} {{env.MISSING}} {{include:auth from x}}", "a"],
  ["$host", "$host"],
  ["${1,3}", "${1,3}"],
  ["'x{1,3}$'", "x{1,3}$"],
  ["${EMPTY}x", "x"],
  ["${LOOP}", "${NAME}"],
  ["|\n  a ${HOST}\n  b", "a db.example.com\nb\n"],
  [">-\n  a\n  {{env.HOST}}", "a db.example.com"],
])("project-description: %s", async (written, expected) => {
  expect((await mainOf(`project-description: ${written}\n`))?.description).toBe(expected);
});

test("a number or a switch may come from the environment, in flow style too", async () => {
  const main = await mainOf("http-port: ${PORT}\nconnections: {db: {lazy: ${FLAG}, properties: {a: {{env.HOST}}}}}\n");
  expect(main?.http.port).toBe(9000);
  expect(main?.connections.get("db")).toMatchObject({ lazy: false });
  expect(main?.connections.get("db")?.properties.get("a")).toBe("db.example.com");
});

test("keys are left as they are", async () => {
  const main = await mainOf("connections: {db: {properties: {'${HOST}': x}}}\n");
  expect([...(main?.connections.get("db")?.properties.keys() ?? [])]).toEqual(["${HOST}"]);
});

test("what came from the environment into a connection is known as a secret", async () => {
  const main = await mainOf("connections:\n  a: {init: 'x ${HOST}', properties: {p: '${PORT}'}}\n  b: {init: x}\n");
  expect(main?.connections.get("a")?.secrets).toEqual(["db.example.com", "9000"]);
  expect(main?.connections.get("b")?.secrets).toEqual([]);
});

test.each([
  ["DB_.*", "DB_HOST", true],
  ["DB_.*", "MY_DB_HOST", false],
  ["^DB_.*$", "DB_HOST", true],
  ["API_KEY", "API_KEY", true],
  ["API_KEY", "API_KEY_2", false],
  ["API_KEY", "api_key", false],
  ["A|B", "AB", false],
])("the pattern %s and the name %s", (pattern, name, expected) => {
  expect(compilePattern(pattern)?.(name)).toBe(expected);
});

test("only listed variables that are set have values", () => {
  const patterns = ["A.*"].flatMap((pattern) => compilePattern(pattern) ?? []);
  const environment = openEnvironment(patterns, { A1: "x", A2: undefined, B: "y" });
  expect([...environment.values]).toEqual([["A1", "x"]]);
  expect(environment.lookUp("A2")).toMatchObject({ ok: false });
  expect(environment.lookUp("B")).toMatchObject({ ok: false });
});
