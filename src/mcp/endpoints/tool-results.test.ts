import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { openTestEndpoints, type TestProduct, tool } from "../../../test/mcp-product.ts";

const PNG = "89504E470D0A1A0A";

/** Validates results as MCP clients do: with the common formats. */
function validatorOf(mcp: TestProduct, name: string) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const schema = mcp.definition("tools", name)["outputSchema"];
  if (typeof schema !== "object" || schema === null) throw new Error("there is a schema");
  return ajv.compile(schema);
}

describe("the output schema", () => {
  test("is known before the first call, and holds for every type of the database", async () => {
    await using mcp = await openTestEndpoints({
      ...tool("types", "SELECT * FROM test_all_types()", "with-pagination: false\n"),
      ...tool("paged", "SELECT * FROM test_all_types()"),
      ...tool("empty", "SELECT * FROM test_all_types() WHERE false"),
      ...tool(
        "more",
        "SELECT '{\"a\": [1, 2.5]}'::JSON AS j, 'infinity'::DATE AS d, '-infinity'::TIMESTAMPTZ AS t, '0044-03-15 (BC)'::DATE AS bc, " +
          "repeat('9', 400)::BIGNUM AS huge, {'a': 1, 'b': [NULL, 'x']} AS s, MAP {'k': 1.5} AS m, 'nan'::DOUBLE AS n, NULL AS nothing",
      ),
    });
    for (const name of ["types", "paged", "empty", "more"]) {
      const validate = validatorOf(mcp, name);
      const { structured, text, structuredText } = await mcp.call(name);
      validate(structured);
      expect(validate.errors).toBeNull();
      expect(structuredText).toContain(`"rows":${text}`);
    }
    const { properties } = mcp.definition("tools", "types")["outputSchema"] as { properties: { rows: unknown } };
    const columns = JSON.stringify(properties.rows);
    expect(columns).toContain('"bigint":{"type":["integer","null"]}');
    expect(columns).toContain('"uuid":{"type":["string","null"],"format":"uuid"}');
    expect(columns).not.toContain("x-sql-type");
    expect(columns).not.toContain("$ref");
  });

  test("is looser if parameters choose the columns", async () => {
    const choice = "request: [{field-name: x, field-in: query, validators: [{type: int}]}]\n";
    await using mcp = await openTestEndpoints({
      ...tool("chosen", "SELECT 1 AS a {{#params.x}}, {{params.x}} AS b{{/params.x}}", choice),
    });
    const validate = validatorOf(mcp, "chosen");
    for (const args of [{}, { x: 5 }]) {
      const { structured } = await mcp.call("chosen", args);
      expect([args, validate(structured)]).toEqual([args, true]);
    }
    expect(validate({ rows: [{ b: 1 }], row_count: 1 })).toBe(false);
  });

  test("exists only for JSON", async () => {
    await using mcp = await openTestEndpoints({
      "a.yaml":
        "mcp-tool: {name: a, description: A, result-mime-type: text/csv}\ntemplate-source: a.sql\nconnection: [memory]\n",
      "a.sql": "SELECT 1 AS x, 'a,b' AS y",
    });
    expect(mcp.definition("tools", "a")).not.toHaveProperty("outputSchema");
    const { text, structured } = await mcp.call("a");
    expect([text, structured]).toEqual(['x,y\r\n1,"a,b"\r\n', undefined]);
  });
});

describe("results that are too long", () => {
  const main = (mcp: string) => ({ "eider.yaml": `connections: {memory: {}}\nmcp: ${mcp}\n` });

  test("a page reports missing rows", async () => {
    await using mcp = await openTestEndpoints(tool("many", "SELECT i FROM range(5000) t(i)"));
    const { structured, blocks } = await mcp.call("many");
    expect(structured).toMatchObject({ row_count: 100, truncated: true, total_count: 5000, next_offset: 100 });
    expect(blocks[1]?.text).toBe(
      "Result limited to 100 of 5000 rows; use limit/offset or narrower filters; the next offset is 100",
    );
    const last = await mcp.call("many", { offset: 4950 });
    expect(last.structured).toMatchObject({ row_count: 50, total_count: 5000 });
    expect(last.structured).not.toHaveProperty("truncated");
    expect(last.blocks).toHaveLength(1);
    const capped = await mcp.call("many", { limit: 4000 });
    expect(capped.structured).toMatchObject({ row_count: 1000, truncated: true, next_offset: 1000 });
  });

  test.each([
    [9, undefined],
    [10, undefined],
    [11, true],
  ])("of %j rows, ten are given, truncated: %j", async (rows, truncated) => {
    await using mcp = await openTestEndpoints({
      ...main("{max-rows: 10}"),
      ...tool("many", `SELECT i FROM range(${rows}) t(i)`, "with-pagination: false\n"),
    });
    const { structured } = await mcp.call("many");
    expect([structured?.["row_count"], structured?.["truncated"]]).toEqual([Math.min(rows, 10), truncated]);
  });

  test("a query that never ends is abandoned", async () => {
    await using mcp = await openTestEndpoints(
      tool("endless", "SELECT i FROM range(1000000000000) t(i)", "with-pagination: false\n"),
    );
    const { structured, blocks } = await mcp.call("endless");
    expect(structured).toMatchObject({ row_count: 1000, truncated: true });
    expect(blocks[1]?.text).toBe("Result limited to the first 1000 rows, there are more; use narrower filters");
    await expect.poll(() => mcp.service.engine.activity().running).toBe(0);
  });

  test("text is truncated between rows", async () => {
    await using mcp = await openTestEndpoints({
      ...main("{max-text-bytes: 1000}"),
      ...tool("wide", "SELECT i, repeat('ü', 100) AS t FROM range(50) t(i)", "with-pagination: false\n"),
      ...tool("huge", "SELECT repeat('x', 5000000) AS t FROM range(3)", "with-pagination: false\n"),
    });
    const wide = await mcp.call("wide");
    expect(Buffer.byteLength(wide.text)).toBeLessThanOrEqual(1000);
    expect(JSON.parse(wide.text)).toHaveLength(4);
    expect(wide.structured).toMatchObject({ row_count: 4, truncated: true });
    expect(wide.blocks[1]?.text).toContain("the first 4 rows (1000 bytes is the limit)");
    const huge = await mcp.call("huge");
    expect([huge.text, huge.structured]).toEqual(["[]", { rows: [], row_count: 0, truncated: true }]);
    expect(huge.blocks[1]?.text).toContain("The first row alone is larger than 1000 bytes");
  });
});

describe("media types", () => {
  const typed = (type: string, sql: string) => ({
    "a.yaml": `mcp-tool: {name: a, description: A, result-mime-type: ${type}}\ntemplate-source: a.sql\nconnection: [memory]\n`,
    "a.sql": sql,
  });

  test.each([
    ["image/png", "image"],
    ["audio/wav", "audio"],
  ])("%s is the first column of bytes", async (type, block) => {
    await using mcp = await openTestEndpoints(typed(type, `SELECT 1 AS id, from_hex('${PNG}') AS picture`));
    const { blocks, structured } = await mcp.call("a");
    expect(blocks).toEqual([{ type: block, data: Buffer.from(PNG, "hex").toString("base64"), mimeType: type }]);
    expect(structured).toBeUndefined();
  });

  test.each([
    ["SELECT 'x' AS picture", "The query returns no BLOB column"],
    ["SELECT ''::BLOB AS picture WHERE false", "The query returned no value"],
    ["SELECT NULL::BLOB AS picture", "The query returned no value"],
  ])("%s is no picture", async (sql, text) => {
    await using mcp = await openTestEndpoints(typed("image/png", sql));
    expect(await mcp.call("a")).toMatchObject({ isError: true, text });
  });

  test.each([
    ["text/plain", "SELECT * FROM (VALUES ('one', 1), ('t\"w\no', 2), (NULL, 3)) t", 'one\nt"w\no\n'],
    ["text/plain", "SELECT 12345678901234567890::HUGEINT AS n", "12345678901234567890"],
    ["text/html", "SELECT '<b>x</b>' AS page", "<b>x</b>"],
    ["application/geo+json", 'SELECT \'{"type":"Point"}\'::JSON AS g', '{"type":"Point"}'],
    ["application/x-ndjson", "SELECT i FROM range(2) t(i)", '{"i":0}\n{"i":1}\n'],
    [
      "text/markdown",
      "SELECT 'a|b' AS \"x|y\", [1, NULL] AS l, NULL AS n",
      "| x\\|y | l | n |\n| --- | --- | --- |\n| a\\|b | [1,null] |  |\n",
    ],
  ])("%s of %s", async (type, sql, text) => {
    await using mcp = await openTestEndpoints(typed(type, sql));
    expect((await mcp.call("a")).text).toBe(text);
  });

  test.each([
    ["markdown", "| i | t |\n| --- | --- |\n| 9223372036854775807 | two<br>lines |\n"],
    ["csv", 'i,t\r\n9223372036854775807,"two\nlines"\r\n'],
  ])("result-text: %s changes the text, not the data", async (as, text) => {
    await using mcp = await openTestEndpoints({
      "eider.yaml": `connections: {memory: {}}\nmcp: {result-text: ${as}}\n`,
      ...tool("a", "SELECT 9223372036854775807 AS i, E'two\\nlines' AS t"),
    });
    const result = await mcp.call("a");
    expect(result.text).toBe(text);
    expect(result.structuredText).toContain('{"rows":[{"i":9223372036854775807,"t":"two\\nlines"}]');
  });
});
