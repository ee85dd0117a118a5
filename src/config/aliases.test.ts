import { expect, test } from "vitest";
import { cpuMs } from "../../test/cpu-time.ts";
import { projectFolder } from "../../test/project-folder.ts";
import { loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";

const HEAD = "url-path: /a\ntemplate-source: a.sql\nconnection: db\n";

async function load(yaml: string) {
  using folder = projectFolder({ "eider.yaml": "connections: {db: {}}\n", "a.sql": "SELECT 1", "a.yaml": HEAD + yaml });
  const { project, problems } = await loadProject({ cwd: folder.path, env: {}, overrides: {} });
  return { endpoint: project?.endpoints[0], problems: problems.map(formatProblem) };
}

test("an alias stands for what its anchor names", async () => {
  const { endpoint, problems } = await load(`description: &text Ships
summary: *text
request:
  - &id {field-name: id, field-in: query, validators: &ints [{type: int, min: 1}]}
  - {field-name: other, field-in: query, validators: *ints}
`);
  expect(problems).toEqual([]);
  expect(endpoint).toMatchObject({ description: "Ships", summary: "Ships" });
  expect(endpoint?.parameters.map(({ validators }) => validators[0]?.type)).toEqual(["int", "int"]);
});

test("merge keys: what is written wins, then the first source", async () => {
  const { endpoint, problems } = await load(`request:
  - &one {field-name: one, field-in: query, description: First, required: true}
  - &two {field-name: two, field-in: header, description: Second}
  - {<<: [*two, *one], field-name: three}
`);
  expect(problems).toEqual([]);
  expect(endpoint?.parameters[2]).toMatchObject({ name: "three", in: "header", description: "Second", required: true });
});

test("an anchor that is given again means the last one before the alias", async () => {
  const { endpoint } = await load("tags: [&x a, *x, &x b, *x]\n");
  expect(endpoint?.tags).toEqual(["a", "a", "b", "b"]);
});

test("a problem in what an alias repeats is placed where it is written", async () => {
  const { problems } = await load("tags: &t [[x]]\noperation: {transaction: *t}\n");
  expect(problems).toEqual([
    "a.yaml:4:10: operation.transaction: expected true or false, found a list",
    "a.yaml:4:11: tags[0]: expected a string, found a list",
  ]);
});

test("a page that stands for a billion values is refused at once", async () => {
  const names = [..."abcdefghij"];
  const lines = names.map((name, index) => {
    const before = names[index - 1];
    return `    ${name}: &${name} [${Array(10)
      .fill(before === undefined ? "x" : `*${before}`)
      .join(", ")}]`;
  });
  const ms = await cpuMs(async () => {
    const { problems } = await load(`heartbeat:\n  params:\n${lines.join("\n")}\n`);
    expect(problems.filter((line) => line.includes("the aliases repeat more than 10000 values"))).toHaveLength(1);
  });
  expect(ms).toBeLessThan(5_000);
});
