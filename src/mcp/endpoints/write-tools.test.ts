import { expect, test } from "vitest";
import { openTestEndpoints, tool } from "../../../test/mcp-product.ts";

const MAIN = {
  "eider.yaml": 'connections: {memory: {init: "CREATE TABLE t (id INTEGER PRIMARY KEY, note VARCHAR)"}}\nmcp: {}\n',
};
const FIELDS =
  "request:\n  - {field-name: id, field-in: body, required: true, validators: [{type: int}]}\n  - {field-name: note, field-in: body}\n";
const INSERT = "INSERT INTO t VALUES ({{params.id}}, '{{params.note}}')";

test("a write returns what it changed, as text and as structured content", async () => {
  await using mcp = await openTestEndpoints({
    ...MAIN,
    ...tool("add", INSERT, `method: POST\n${FIELDS}`),
    ...tool("add_back", `${INSERT} RETURNING id, note`, `method: POST\noperation: {returns-data: true}\n${FIELDS}`),
  });
  const added = await mcp.call("add", { id: 1, note: "O'Brien" });
  expect([added.text, added.structuredText, added.isError]).toEqual([
    '{"rows_affected":1}',
    '{"rows_affected":1}',
    false,
  ]);
  const back = await mcp.call("add_back", { id: 2 });
  expect(back.text).toBe('{"rows_affected":1,"data":[{"id":2,"note":""}]}');
  expect(back.structuredText).toBe(back.text);
  expect(mcp.observed).toMatchObject([
    { endpoint: "mcp-tool add", rows: 1, status: 200 },
    { endpoint: "mcp-tool add_back", rows: 1, status: 200 },
  ]);
  expect(mcp.progress).toEqual([0, 50, 100, 0, 50, 100]);
  expect(mcp.logged.slice(0, 3)).toEqual(["info running add", "info statements executed", "info 1 rows changed"]);
});

test("a failed write changes nothing, and returns the reason", async () => {
  await using mcp = await openTestEndpoints({
    ...MAIN,
    ...tool("add_two", `${INSERT}; INSERT INTO t VALUES (1, 'taken')`, `method: POST\n${FIELDS}`),
    ...tool("count_all", "SELECT count(*) AS n FROM t"),
  });
  const failed = await mcp.call("add_two", { id: 1, note: "x" });
  expect(failed.isError).toBe(true);
  expect(failed.text).toMatch(/^Query failed: .*duplicate key/);
  expect((await mcp.call("count_all")).structured?.["rows"]).toEqual([{ n: 0 }]);
  const refused = await mcp.call("add_two", { note: "x" });
  expect(refused.text).toBe("id: Required field is missing");
});

test("rows that a write returns are limited too", async () => {
  await using mcp = await openTestEndpoints({
    ...MAIN,
    "eider.yaml": `${MAIN["eider.yaml"].replace("mcp: {}", "mcp: {max-rows: 3}")}`,
    ...tool(
      "fill",
      "INSERT INTO t SELECT i, 'x' FROM range(10) r(i) RETURNING id",
      "method: POST\noperation: {returns-data: true}\n",
    ),
  });
  expect((await mcp.call("fill")).structured).toEqual({
    rows_affected: 10,
    data: [{ id: 0 }, { id: 1 }, { id: 2 }],
    truncated: true,
  });
});

test.each([
  ["SELECT 1 AS x", "", [true, false, true]],
  [INSERT, `method: POST\n${FIELDS}`, [false, false, false]],
  [`DELETE FROM t; ${INSERT}`, `method: POST\n${FIELDS}`, [false, true, false]],
  [INSERT, `method: PUT\n${FIELDS}`, [false, true, true]],
  ["UPDATE t SET note = 'x'", "method: PATCH\n", [false, true, false]],
  ["DELETE FROM t", "method: DELETE\n", [false, true, true]],
  ["DELETE FROM t", "operation: {type: Write}\n", [false, true, false]],
])("%s with %j is annotated %j", async (sql, yaml, [readOnly, destructive, idempotent]) => {
  await using mcp = await openTestEndpoints({ ...MAIN, ...tool("a", sql, yaml) });
  expect(mcp.definition("tools", "a")["annotations"]).toEqual({
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: false,
  });
});
