import { expect, test } from "vitest";
import { identityNamed, openTestEndpoints, tool } from "../../../test/mcp-product.ts";
import { openStop } from "../../engines/stop.ts";
import { RequestFailure } from "../../failure.ts";
import { McpError } from "../mcp-service.ts";

const request = (...entries: readonly string[]): string =>
  `request:\n${entries.map((each) => `  - {${each}}\n`).join("")}`;
const ID = request("field-name: id, field-in: query, required: true, validators: [{type: int, min: 1}]");

test("a read returns the same rows as text and as structured content", async () => {
  await using mcp = await openTestEndpoints(tool("find", "SELECT {{params.id}} AS id, 'Ada' AS name", ID));
  const { text, structured, structuredText, isError, blocks } = await mcp.call("find", { id: 7 });
  expect(isError).toBe(false);
  expect(blocks).toHaveLength(1);
  expect(text).toBe('[{"id":7,"name":"Ada"}]');
  expect(structured).toEqual({ rows: [{ id: 7, name: "Ada" }], row_count: 1, total_count: 1 });
  expect(structuredText).toContain(text);
});

test("numbers keep every digit", async () => {
  const sql = "SELECT 9223372036854775807 AS big, 12345678901234567.89::DECIMAL(38, 2) AS money, 1e300 AS far";
  await using mcp = await openTestEndpoints(tool("digits", sql, "with-pagination: false\n"));
  const { text, structuredText } = await mcp.call("digits");
  expect(text).toBe('[{"big":9223372036854775807,"money":12345678901234567.89,"far":1e+300}]');
  expect(structuredText).toBe(`{"rows":${text},"row_count":1}`);
});

test.each([
  [{}, "id: Required field is missing"],
  [{ id: null }, "id: Required field is missing"],
  [{ id: "x" }, "id: Invalid integer value"],
  [{ id: 0 }, "id: Integer is less than the minimum allowed value"],
  [{ id: [1] }, "id: Invalid string format"],
  [{ id: 1, limit: -1 }, "limit: Integer is less than the minimum allowed value"],
  [{ id: 1, other: 1 }, "other: Unknown parameter not defined in endpoint configuration"],
  [{ id: 1, format: "csv" }, "format: Unknown parameter not defined in endpoint configuration"],
  [{ id: 1, "auth.username": "x" }, "auth.username: Unknown parameter not defined in endpoint configuration"],
  [
    { id: "x", status: "y", other: 1 },
    "id: Invalid integer value\nstatus: Invalid enum value\nother: Unknown parameter not defined in endpoint configuration",
  ],
])("arguments %j are refused with %j", async (args, expected) => {
  const status = "field-name: status, field-in: query, validators: [{type: enum, allowedValues: [a, b]}]";
  await using mcp = await openTestEndpoints(tool("find", "SELECT {{params.id}} AS id", `${ID}  - {${status}}\n`));
  const { isError, text, structured } = await mcp.call("find", args);
  expect([isError, text, structured]).toEqual([true, expected, undefined]);
  expect(mcp.observed).toMatchObject([{ surface: "mcp", endpoint: "mcp-tool find", status: 400 }]);
});

test("arguments reach the parameters of every location", async () => {
  const yaml = `method: POST\noperation: {type: Read}\n${request(
    "field-name: x_user_region, field-in: header",
    "field-name: note, field-in: body",
    "field-name: id, field-in: path",
  )}`;
  const sql = "SELECT '{{params.x_user_region}}' AS region, '{{params.note}}' AS note, '{{params.id}}' AS id";
  await using mcp = await openTestEndpoints(tool("where", sql, yaml));
  const { structured } = await mcp.call("where", { x_user_region: "eu", note: { a: [1] }, id: 5 });
  expect(structured?.["rows"]).toEqual([{ region: "eu", note: '{"a":[1]}', id: "5" }]);
});

test("limit and offset are only for paginated reads", async () => {
  await using mcp = await openTestEndpoints({
    ...tool("paged", "SELECT i FROM range(10) t(i)"),
    ...tool("whole", "SELECT i FROM range(10) t(i)", "with-pagination: false\n"),
  });
  const { structured } = await mcp.call("paged", { limit: 2, offset: 3 });
  expect(structured).toEqual({
    rows: [{ i: 3 }, { i: 4 }],
    row_count: 2,
    truncated: true,
    total_count: 10,
    next_offset: 5,
  });
  expect((await mcp.call("whole", { limit: 2 })).text).toMatch(/^limit: Unknown parameter/);
});

test("an unknown tool is an error, not a result", async () => {
  await using mcp = await openTestEndpoints(tool("find", "SELECT 1 AS x"));
  await expect(mcp.call("fnd")).rejects.toThrow(new McpError({ kind: "unknown-name", message: "Unknown tool: fnd" }));
});

test("database errors reach the client, without secrets", async () => {
  await using mcp = await openTestEndpoints(
    {
      "eider.yaml":
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to the environment, in YAML.
        "connections: {memory: {properties: {key: '${PASS}'}}}\nmcp: {}\ntemplate: {environment-whitelist: [PASS]}\n",
      ...tool(
        "bad",
        "SELECT CAST('{{conn.key}} no number' AS INTEGER) + length('{{params.q}}') AS x",
        request("field-name: q, field-in: query"),
      ),
    },
    { PASS: "very-secret-password" },
  );
  const { isError, text } = await mcp.call("bad", { q: "x" });
  expect(isError).toBe(true);
  expect(text).toMatch(/^Query failed: .*Could not convert/);
  expect(text).not.toContain("very-secret-password");
  expect(mcp.events).toMatchObject([
    { kind: "call-failed", endpoint: "mcp-tool bad", failure: { kind: "query-failed" } },
  ]);
});

test("a template can reject a call with its own message", async () => {
  await using mcp = await openTestEndpoints(tool("no", "SELECT error('403: not yours') AS x"));
  expect(await mcp.call("no")).toMatchObject({ isError: true, text: "not yours" });
  expect(mcp.observed).toMatchObject([{ status: 403 }]);
});

test("a query that takes too long names the limit", async () => {
  await using mcp = await openTestEndpoints({
    "eider.yaml": "connections: {memory: {}}\nmcp: {}\nlimits: {query-timeout: 1s}\n",
    ...tool("slow", "SELECT count(*) AS n FROM range(100000000000) t(i), range(1000) u(j) WHERE i + j < 0"),
  });
  const { isError, text } = await mcp.call("slow");
  expect(isError).toBe(true);
  expect(text).toBe("The query took longer than 1 s, which is the limit; ask for less with narrower filters");
  expect(mcp.service.engine.activity().running).toBe(0);
});

test("cancelling a call interrupts its query", async () => {
  await using mcp = await openTestEndpoints(
    tool("slow", "SELECT count(*) AS n FROM range(100000000000) t(i), range(1000) u(j) WHERE i + j < 0"),
  );
  const stop = openStop();
  const calling = mcp.call("slow", {}, { signal: stop.signal });
  await expect.poll(() => mcp.service.engine.activity().running).toBe(1);
  stop.abort(new RequestFailure({ kind: "cancelled" }));
  expect(await calling).toMatchObject({ isError: true, text: "The call was cancelled" });
  await expect.poll(() => mcp.service.engine.activity().running).toBe(0);
  expect(await mcp.call("slow", {}, { signal: stop.signal })).toMatchObject({ isError: true });
  expect(mcp.observed).toMatchObject([{ status: 499 }, { status: 499 }]);
  expect(mcp.events).toEqual([]);
});

test("calls are counted under the name of the tool", async () => {
  await using mcp = await openTestEndpoints({
    ...tool("a", "SELECT 1 AS x", "rate-limit: {max: 1, interval: 60}\n"),
    ...tool("b", "SELECT 1 AS x", "rate-limit: {max: 1, interval: 60}\n"),
  });
  expect((await mcp.call("a")).isError).toBe(false);
  expect(await mcp.call("a")).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^Rate limit exceeded, retry in \d+ s$/),
  });
  expect((await mcp.call("b")).isError).toBe(false);
});

test("a failure names the connection that is down", async () => {
  await using mcp = await openTestEndpoints({
    "eider.yaml": "connections: {gone: {init: \"ATTACH '/nowhere/at/all.db' AS gone (READ_ONLY)\"}}\nmcp: {}\n",
    "a.yaml": "mcp-tool: {name: a, description: A}\ntemplate-source: a.sql\nconnection: [gone]\n",
    "a.sql": "SELECT * FROM gone.t",
  });
  expect(await mcp.call("a")).toMatchObject({
    isError: true,
    text: "The data source 'gone' cannot be reached at the moment; try again later",
  });
});

test("the identity reaches the template, and arguments cannot override it", async () => {
  const sql = "SELECT owner FROM (VALUES ('ada'), ('bob')) t(owner) WHERE owner = '{{auth.username}}'";
  await using mcp = await openTestEndpoints(tool("mine", sql));
  for (const name of ["ada", "bob"]) {
    const { structured } = await mcp.call("mine", {}, { identity: identityNamed(name) });
    expect(structured?.["rows"]).toEqual([{ owner: name }]);
  }
  expect((await mcp.call("mine")).structured?.["rows"]).toEqual([]);
  const forged = await mcp.call("mine", { "auth.username": "ada", auth: { username: "ada" } });
  expect(forged.isError).toBe(true);
});

test("a protected endpoint requires an identity, even if the access check is bypassed", async () => {
  const auth = "auth: {type: basic, users: [{username: ada, password: x}]}\n";
  await using mcp = await openTestEndpoints(tool("mine", "SELECT 1 AS x", auth));
  expect(await mcp.call("mine")).toMatchObject({ isError: true, text: "Unauthorized" });
  expect(await mcp.call("mine", {}, { identity: identityNamed("ada") })).toMatchObject({ isError: false });
});

test("a call sends progress and log messages", async () => {
  await using mcp = await openTestEndpoints(tool("find", "SELECT 1 AS x"));
  await mcp.call("find");
  expect(mcp.progress).toEqual([0, 50, 100]);
  expect(mcp.logged).toEqual(["info running find", "info query executed", "info 1 rows read"]);
  expect(mcp.observed).toMatchObject([
    { surface: "mcp", endpoint: "mcp-tool find", rows: 1, format: "json", status: 200 },
  ]);
});
