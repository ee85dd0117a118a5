import { rm } from "node:fs/promises";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { writeFiles } from "../../test/service.ts";
import { testFileJsonSchema } from "./json-schema.ts";
import { loadProject } from "./load-project.ts";
import { formatProblem } from "./problem.ts";
import { loadTests } from "./test-files.ts";

const FILES = {
  "eider.yaml": "connections:\n  memory: {}\ntemplate: { environment-whitelist: [REGION] }\n",
  "one.yaml":
    "url-path: /customers/:id\ntemplate-source: x.sql\nconnection: memory\nrequest: [{ field-name: id, field-in: path }]\n",
  "list.yaml":
    "url-path: /customers\ntemplate-source: x.sql\nconnection: memory\nauth: { type: bearer, token: x }\nmcp-tool: { name: find_customers, description: Customers }\n",
  "add.yaml": "url-path: /customers\nmethod: POST\ntemplate-source: x.sql\nconnection: memory\n",
  "x.sql": "SELECT 1 AS id",
};

async function load(text: string) {
  const folder = await writeFiles({ ...FILES, "some.test.yaml": text });
  try {
    const { project, problems } = await loadProject({ cwd: folder, env: { REGION: "north" }, overrides: {} });
    if (project === undefined) throw new Error(problems.map(formatProblem).join("\n"));
    expect(project.endpoints).toHaveLength(3);
    const { files, problems: found } = loadTests(project, folder);
    return { files, problems: [...problems.filter(({ path }) => path === ""), ...found].map(formatProblem) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const valid = ajvOf();

function ajvOf() {
  const compiled = new Ajv({ strict: false }).compile(testFileJsonSchema());
  return (text: string) => compiled(parse(text));
}

test.each([
  ["endpoint: /customers/:id", "GET", "/customers/:id", "{ path: { id: 1 } }"],
  ["endpoint: /customers/{id}", "GET", "/customers/:id", "{ path: { id: 1 } }"],
  ["endpoint: /customers/{other}/", "GET", "/customers/:id", "{ path: { id: 1 } }"],
  ["endpoint: get /customers", "GET", "/customers", "{ query: { a: [1, 2], b: '' }, user: anna }"],
  ["endpoint: POST /customers", "POST", "/customers", "{ body: [1, null], headers: { X-Test: on } }"],
  ["tool: find_customers", "GET", "/customers", "{ body: { limit: 1 }, user: { username: anna, roles: a } }"],
])("%s is found", async (target, method, urlPath, request) => {
  const text = `${target}\ntests:\n  - name: works\n    request: ${request}\n    expect: { status: 200, rows: 1, snapshot: true }\n`;
  const { files, problems } = await load(text);
  expect(problems).toEqual([]);
  expect(files.map(({ endpoint }) => endpoint.rest)).toEqual([{ method, urlPath }]);
  expect(valid(text)).toBe(true);
});

test("a whole path, and errors as in a response, mean the same as mappings", async () => {
  const test = (request: string, errors: string): string =>
    `endpoint: /customers/:id\ntests:\n  - name: a\n    request: ${request}\n    expect: { errors: ${errors} }\n`;
  const long = test("{ path: /customers/a%20b/ }", "[{ field: id, message: 'No: x' }]");
  const short = test("{ path: { id: a b } }", "{ id: 'No: x' }");
  const [one, other] = [await load(long), await load(short)];
  expect(one.problems).toEqual([]);
  expect(one.files[0]?.tests).toEqual(other.files[0]?.tests);
  expect([valid(long), valid(short)]).toEqual([true, true]);
  for (const path of ["/customers", "/customers/", "/others/7", "/customers/7/x"]) {
    expect((await load(test(`{ path: ${path} }`, "{ id: x }"))).problems).toEqual([
      `some.test.yaml:4:22: tests[0].request.path: '${path}' is not a path of GET /customers/:id`,
    ]);
  }
});

const testsOf = (rest: string, target = "endpoint: /customers/:id"): string =>
  `${target}\ntests:\n  - name: works\n    request: { path: { id: 1 } }\n${rest}`;

/** `isValid`: an editor cannot find it. */
test.each<[string, string, readonly string[], boolean]>([
  [
    "an unknown key",
    testsOf("    expects: { status: 200 }\n    expect: { status: 200 }\n"),
    ["some.test.yaml:5:5: tests[0].expects: unknown key 'expects'; did you mean 'expect'?"],
    false,
  ],
  [
    "an unknown expectation",
    testsOf("    expect: { total: 1 }\n"),
    ["some.test.yaml:5:15: tests[0].expect.total: unknown key 'total'; did you mean 'total-count'?"],
    false,
  ],
  ["no expectation", testsOf(""), ["some.test.yaml:3:5: tests[0].expect: missing; expected a mapping"], false],
  [
    "an empty expectation",
    testsOf("    expect: {}\n"),
    ["some.test.yaml:5:5: tests[0].expect: nothing is expected; write at least a status"],
    true,
  ],
  [
    "no target",
    "tests:\n  - name: a\n    expect: { status: 200 }\n",
    ["some.test.yaml:1:1: name the 'endpoint' or the 'tool' under test"],
    false,
  ],
  [
    "two targets",
    "endpoint: /customers/:id\ntool: find_customers\ntests: []\n",
    ["some.test.yaml:2:1: tool: 'endpoint' is there too; keep one of them"],
    false,
  ],
  [
    "no tests",
    "endpoint: GET /customers\ntests: []\n",
    ["some.test.yaml:2:1: tests: no tests; write at least one"],
    true,
  ],
  [
    "an unknown endpoint",
    testsOf("    expect: { status: 200 }\n", "endpoint: /custmers"),
    ["some.test.yaml:1:11: endpoint: there is no endpoint '/custmers'; did you mean '/customers'?"],
    true,
  ],
  [
    "an unknown tool",
    "tool: find_customer\ntests:\n  - name: a\n    expect: { status: 200 }\n",
    ["some.test.yaml:1:7: tool: there is no tool 'find_customer'; did you mean 'find_customers'?"],
    true,
  ],
  [
    "a path of several endpoints",
    "endpoint: /customers\ntests:\n  - name: a\n    expect: { status: 200 }\n",
    ["some.test.yaml:1:11: endpoint: several methods share this path; write 'POST /customers' or 'GET /customers'"],
    true,
  ],
  [
    "a missing placeholder",
    "endpoint: /customers/:id\ntests:\n  - name: a\n    request: {}\n    expect: { status: 200 }\n",
    ["some.test.yaml:4:5: tests[0].request.path: the path /customers/:id needs a value for 'id'; write it here"],
    true,
  ],
  [
    "an unknown placeholder",
    testsOf("    expect: { status: 200 }\n").replace("id: 1", "id: 1, name: x"),
    ["some.test.yaml:4:31: tests[0].request.path.name: 'name' is not in the path /customers/:id"],
    true,
  ],
  [
    "the same name twice",
    testsOf(
      "    expect: { status: 200 }\n  - name: works\n    request: { path: { id: 2 } }\n    expect: { status: 200 }\n",
    ),
    ["some.test.yaml:6:11: tests[1].name: 'works' is there twice; give each its own name"],
    true,
  ],
  [
    "a body of a GET",
    testsOf("    expect: { status: 200 }\n").replace("{ path", "{ body: {}, path"),
    ["some.test.yaml:4:16: tests[0].request.body: a GET request has no body; remove it"],
    true,
  ],
  [
    "a user without authentication",
    testsOf("    expect: { status: 200 }\n").replace("{ path", "{ user: anna, path"),
    [
      "some.test.yaml:4:16: tests[0].request.user: the endpoint has no auth block, so an identity has no effect; remove it",
    ],
    true,
  ],
  [
    "a query of a tool",
    "tool: find_customers\ntests:\n  - name: a\n    request: { query: { limit: 1 } }\n    expect: { status: 200 }\n",
    ["some.test.yaml:4:16: tests[0].request.query: a tool has arguments; write them under 'body'"],
    true,
  ],
  [
    "rows that are none",
    testsOf("    expect: { rows: some }\n"),
    ["some.test.yaml:5:21: tests[0].expect.rows: expected a number of rows, or a list of mappings"],
    true,
  ],
  [
    "a status that is none",
    testsOf("    expect: { status: 20 }\n"),
    ["some.test.yaml:5:23: tests[0].expect.status: expected an integer, 100 to 599, found '20'"],
    false,
  ],
  [
    "broken YAML",
    "endpoint: /customers/:id\ntests: [\n",
    [expect.stringMatching(/^some\.test\.yaml:\d+:\d+: /)],
    false,
  ],
  [
    "an endpoint under the name of a test",
    "url-path: /x\ntemplate-source: x.sql\nconnection: memory\n",
    [
      "some.test.yaml:1:1: warning: a file with this name holds tests and is no endpoint; rename it",
      "some.test.yaml:1:1: tests: missing; expected a list",
      "some.test.yaml:1:1: url-path: unknown key 'url-path'; known: endpoint, tool, tests",
      "some.test.yaml:2:1: template-source: unknown key 'template-source'; known: endpoint, tool, tests",
      "some.test.yaml:3:1: connection: unknown key 'connection'; known: endpoint, tool, tests",
    ],
    false,
  ],
])("%s is a problem", async (_, text, expected, isValid) => {
  expect((await load(text)).problems).toEqual(expected);
  if (!text.endsWith("[\n")) expect(valid(text)).toBe(isValid);
});

test("values keep their types and digits, and environment references work", async () => {
  const { files, problems } = await load(
    testsOf(
      "    expect:\n      first-row: { a: 9007199254740993, b: 1.50, c: '1', d: null, e: [true], f: '{{env.REGION}}', g: 2026-01-31 }\n",
    ),
  );
  expect(problems).toEqual([]);
  expect(files[0]?.tests[0]?.expect.firstRow).toEqual({
    a: 9007199254740993n,
    b: 1.5,
    c: "1",
    d: null,
    e: [true],
    f: "north",
    g: "2026-01-31",
  });
});
