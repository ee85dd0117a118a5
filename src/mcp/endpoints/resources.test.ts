import { describe, expect, test } from "vitest";
import { callOf, identityNamed, openTestEndpoints, resource } from "../../../test/mcp-product.ts";

const BY_ID = resource("one", {
  name: "customers/{id}",
  sql: "SELECT {{params.id}} AS id, '{{params.status}}' AS status",
  yaml:
    "request:\n  - {field-name: id, field-in: query, required: true, validators: [{type: int}]}\n" +
    "  - {field-name: status, field-in: query, validators: [{type: enum, allowedValues: [active, gone, away]}]}\n",
});

describe("reading", () => {
  test.each([
    ["eider://customers/1", '[{"id":1,"status":""}]'],
    ["eider://customers/1?status=gone", '[{"id":1,"status":"gone"}]'],
    ["eider://customers/%31?status=%67one&status=away", '[{"id":1,"status":"gone"}]'],
    ["eider://customers/new", '[{"x":"new"}]'],
  ])("%s is %s", async (uri, text) => {
    await using mcp = await openTestEndpoints({
      ...BY_ID,
      ...resource("new", { name: "customers/new", sql: "SELECT 'new' AS x" }),
    });
    expect((await mcp.read(uri)).contents).toEqual([{ uri, mimeType: "application/json", text }]);
    expect(mcp.progress).toEqual([0, 50, 100]);
    expect(mcp.observed).toMatchObject([
      { surface: "mcp", endpoint: expect.stringMatching(/^mcp-resource customers\//), rows: 1, status: 200 },
    ]);
  });

  test.each([
    "eider://nothing",
    "eider://customers",
    "eider://customers/",
    "eider://customers/1/2",
    "other://customers/1",
    "customers/1",
    "",
    "eider://customers/%ff",
    "eider://customers/1?status=%zz",
  ])("%j is not found", async (uri) => {
    await using mcp = await openTestEndpoints(BY_ID);
    await expect(mcp.read(uri)).rejects.toMatchObject({ problem: { kind: "resource-not-found", uri } });
  });

  test.each([
    ["eider://customers/x", "id: Invalid integer value"],
    ["eider://customers/1?status=lost", "status: Invalid enum value"],
    ["eider://customers/1?other=1", "other: Unknown parameter not defined in endpoint configuration"],
    ["eider://customers/1?auth.username=ada", "auth.username: Unknown parameter not defined in endpoint configuration"],
  ])("%s: %s", async (uri, message) => {
    await using mcp = await openTestEndpoints(BY_ID);
    await expect(mcp.read(uri)).rejects.toMatchObject({ problem: { kind: "invalid-params", message } });
  });

  test("the query of a URI selects the page, and a hint reports missing rows", async () => {
    await using mcp = await openTestEndpoints(resource("many", { name: "many", sql: "SELECT i FROM range(500) t(i)" }));
    const { contents } = await mcp.read("eider://many?limit=2&offset=3");
    expect(contents.map(({ text }) => text)).toEqual([
      '[{"i":3},{"i":4}]',
      "Result limited to 2 of 500 rows; use limit/offset or narrower filters; the next offset is 5",
    ]);
  });

  test("database errors are returned, internal details are not", async () => {
    await using mcp = await openTestEndpoints(
      resource("bad", { name: "bad", sql: "SELECT CAST('x' AS INTEGER) AS i" }),
    );
    await expect(mcp.read("eider://bad")).rejects.toMatchObject({
      problem: { kind: "internal", message: expect.stringMatching(/^Query failed: .*Could not convert/) },
    });
  });

  test("bytes are a blob, other types are text of the first column", async () => {
    await using mcp = await openTestEndpoints({
      ...resource("a", { name: "picture", sql: "SELECT 1 AS i, from_hex('00FF') AS b", mime: "image/png" }),
      ...resource("b", { name: "file", sql: "SELECT from_hex('00FF') AS b", mime: "application/pdf" }),
      ...resource("c", { name: "drawing", sql: "SELECT '<svg/>' AS s", mime: "image/svg+xml" }),
      ...resource("d", { name: "lines", sql: "SELECT 'a' AS s UNION ALL SELECT 'b'", mime: "text/plain" }),
      ...resource("e", { name: "table", sql: "SELECT 1 AS s", mime: "text/csv" }),
      ...resource("f", { name: "none", sql: "SELECT ''::BLOB AS b WHERE false", mime: "application/pdf" }),
      ...resource("g", { name: "data", sql: "SELECT from_hex('00FF') AS b" }),
    });
    const first = async (name: string) => (await mcp.read(`eider://${name}`)).contents[0];
    expect(await first("picture")).toEqual({ uri: "eider://picture", mimeType: "image/png", blob: "AP8=" });
    expect(await first("file")).toMatchObject({ mimeType: "application/pdf", blob: "AP8=" });
    expect(await first("drawing")).toMatchObject({ mimeType: "image/svg+xml", text: "<svg/>" });
    expect(await first("lines")).toMatchObject({ text: "a\nb" });
    expect(await first("table")).toMatchObject({ text: "s\r\n1\r\n" });
    expect(await first("data")).toMatchObject({ text: '[{"b":"AP8="}]' });
    await expect(mcp.read("eider://none")).rejects.toMatchObject({ problem: { kind: "resource-not-found" } });
  });
});

describe("caching of resources", () => {
  const cached = (name: string, schedule: string) =>
    `cache: {table: ${name}, schedule: ${schedule}}\nwith-pagination: false\n`;

  test("a cached resource is current until its next refresh, others are not cacheable", async () => {
    await using mcp = await openTestEndpoints({
      ...resource("a", { name: "cached", sql: "SELECT 1 AS x", yaml: cached("c", "10m") }),
      ...resource("b", { name: "live", sql: "SELECT 1 AS x" }),
      ...resource("c", { name: "mine", sql: "SELECT '{{auth.username}}' AS x" }),
      ...BY_ID,
    });
    const { service, urisOfCache } = mcp.product;
    const { ttlMs, isPrivate } = await service.readResource("eider://cached", callOf());
    expect(ttlMs).toBeGreaterThan(590_000);
    expect(ttlMs).toBeLessThanOrEqual(600_000);
    expect(isPrivate).toBe(false);
    expect(await service.readResource("eider://live", callOf())).toMatchObject({ ttlMs: 0, isPrivate: false });
    expect(await service.readResource("eider://mine", callOf())).toMatchObject({ ttlMs: 0, isPrivate: true });
    expect(await service.readResource("eider://customers/1", callOf())).toMatchObject({ isPrivate: true });
    expect(urisOfCache({ schema: "cache", table: "c" })).toEqual(["eider://cached"]);
    expect(urisOfCache({ schema: "cache", table: "other" })).toEqual([]);
    expect(urisOfCache({ schema: "CACHE", table: "C" })).toEqual(["eider://cached"]);
  });

  test("rows depend on the identity", async () => {
    await using mcp = await openTestEndpoints(resource("c", { name: "mine", sql: "SELECT '{{auth.username}}' AS x" }));
    for (const name of ["ada", "bob"]) {
      const { text } = await mcp.read("eider://mine", { identity: identityNamed(name) });
      expect(text).toBe(`[{"x":"${name}"}]`);
    }
  });
});

describe("completion", () => {
  const complete = async (uri: string, name: string, value: string) => {
    await using mcp = await openTestEndpoints(BY_ID);
    return await mcp.product.service.complete({ kind: "resource", uri }, { name, value }, new Map());
  };

  test.each([
    ["eider://customers/{id}{?status}", "status", "a", ["active", "away"]],
    ["eider://customers/{id}{?status}", "status", "G", ["gone"]],
    ["eider://customers/{id}", "status", "", ["active", "gone", "away"]],
    ["eider://customers/{id}{?status}", "id", "", []],
    ["eider://customers/{id}{?status}", "nothing", "", []],
  ])("%s, %s=%j: %j", async (uri, name, value, values) => {
    expect(await complete(uri, name, value)).toEqual({ values, total: values.length, hasMore: false });
  });

  test("an unknown template is an error", async () => {
    await expect(complete("eider://orders/{id}", "id", "")).rejects.toMatchObject({
      problem: { kind: "invalid-params" },
    });
  });
});
