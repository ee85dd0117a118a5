import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { openTestEndpoints, resource, type TestProduct, tool } from "../../../test/mcp-product.ts";

const INIT =
  "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR); INSERT INTO t VALUES (1, 'one'), (2, repeat('x', 2000))";
const MAIN = {
  "eider.yaml": `connections: { memory: { init: "${INIT}" } }
mcp: { max-text-bytes: 1000 }
http-status: { constraint-failure: client-error, nothing-changed: 404 }
`,
};
const ID = "request:\n  - {field-name: id, field-in: query, required: true, validators: [{type: int}]}\n";
const ONE = "returns: one\n";
const SQL = "SELECT id, name FROM t WHERE id = {{params.id}} OR {{params.id}} = 99";
const NOTHING = "Nothing was found for these arguments";
const SEVERAL = "Query failed: the query returned several rows instead of one";

/** Calls a tool. Its structured content must match its schema. */
async function checked(mcp: TestProduct, name: string, args: Readonly<Record<string, unknown>>) {
  const told = await mcp.call(name, args);
  const schema = mcp.definition("tools", name)["outputSchema"];
  const isValid = new Ajv2020({ strict: false }).compile(schema as object);
  if (!told.isError) expect([isValid(told.structured), isValid.errors]).toEqual([true, null]);
  return told;
}

test("a tool returns the object, as text and as structured content", async () => {
  await using mcp = await openTestEndpoints({ ...MAIN, ...tool("find", SQL, ONE + ID) });
  expect(mcp.definition("tools", "find")["outputSchema"]).toMatchObject({
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: ["integer", "null"] }, name: { type: ["string", "null"] } },
  });
  const { text, structuredText, isError } = await checked(mcp, "find", { id: 1 });
  expect([text, structuredText, isError]).toEqual(['{"id":1,"name":"one"}', '{"id":1,"name":"one"}', false]);
  const failures = [
    [7, NOTHING],
    [99, SEVERAL],
    [2, "The result is too large; ask for less"],
  ] as const;
  for (const [id, message] of failures) {
    const failed = await mcp.call("find", { id });
    expect([failed.isError, failed.text, failed.structured]).toEqual([true, message, undefined]);
  }
  expect((await mcp.call("find", { id: 1, limit: 1 })).text).toContain("limit: Unknown parameter");
  expect(mcp.observed.map(({ status }) => status)).toEqual([200, 404, 500, 413, 400]);
});

test.each([
  ["text/csv", "id,name\r\n1,one\r\n"],
  ["text/markdown", "| id | name |\n| --- | --- |\n| 1 | one |\n"],
  ["application/x-ndjson", '{"id":1,"name":"one"}\n'],
  ["text/plain", "1"],
])("as %s it is the one row", async (type, expected) => {
  await using mcp = await openTestEndpoints({
    ...MAIN,
    "find.sql": SQL,
    "find.yaml": `mcp-tool: {name: find, description: Finds, result-mime-type: ${type}}\ntemplate-source: find.sql\nconnection: memory\n${ONE}${ID}`,
  });
  expect((await mcp.call("find", { id: 1 })).text).toBe(expected);
  expect((await mcp.call("find", { id: 7 })).text).toBe(NOTHING);
});

test("a write tool has the object as its data, and fails as REST does", async () => {
  const data = `operation: {returns-data: true}\n${ONE}${ID}`;
  const rename = "UPDATE t SET name = 'new' WHERE id = {{params.id}} OR {{params.id}} = 99 RETURNING *";
  const grow = "UPDATE t SET name = repeat('y', 5000) WHERE id = {{params.id}} RETURNING *";
  await using mcp = await openTestEndpoints({
    ...MAIN,
    ...tool("rename", rename, `method: PATCH\n${data}`),
    ...tool("grow", grow, `method: PUT\n${data}`),
    ...tool("add", "INSERT INTO t VALUES ({{params.id}}, 'x')", `method: POST\n${ID}`),
    ...tool("remove", "DELETE FROM t WHERE id = {{params.id}}", `method: DELETE\n${ID}`),
    ...tool("find", SQL, ONE + ID),
  });
  expect((await checked(mcp, "rename", { id: 1 })).text).toBe('{"rows_affected":1,"data":{"id":1,"name":"new"}}');
  expect((await mcp.call("rename", { id: 7 })).text).toBe(NOTHING);
  expect((await mcp.call("rename", { id: 99 })).text).toBe(SEVERAL);
  expect((await checked(mcp, "grow", { id: 1 })).text).toBe('{"rows_affected":1,"truncated":true}');
  const refused = await mcp.call("add", { id: 1 });
  expect([refused.isError, refused.text]).toEqual([
    true,
    expect.stringMatching(/^Rejected by a constraint of the database: Constraint Error: Duplicate key/),
  ]);
  const gone = await mcp.call("remove", { id: 7 });
  expect([gone.isError, gone.text]).toEqual([true, "Nothing was changed: no row matches these arguments"]);
  expect((await checked(mcp, "remove", { id: 1 })).text).toBe('{"rows_affected":1}');
  expect((await mcp.call("find", { id: 1 })).text).toBe(NOTHING);
});

test("a resource without a row does not exist", async () => {
  await using mcp = await openTestEndpoints({
    ...MAIN,
    ...resource("one", { name: "things/{id}", sql: SQL, yaml: ONE + ID }),
  });
  expect((await mcp.read("eider://things/1")).text).toBe('{"id":1,"name":"one"}');
  await expect(mcp.read("eider://things/7")).rejects.toMatchObject({
    problem: { kind: "resource-not-found", uri: "eider://things/7" },
  });
  await expect(mcp.read("eider://things/99")).rejects.toMatchObject({ problem: { kind: "internal" } });
});
