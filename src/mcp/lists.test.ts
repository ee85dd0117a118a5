import { expect, test } from "vitest";
import { testRegistry } from "../../test/mcp-registry.ts";
import { mcpServer, mcpSettings, openGate, type TestMcp } from "../../test/mcp-server.ts";

const names = Array.from({ length: 250 }, (_, index) => `t${String(index).padStart(3, "0")}`);

interface Page {
  readonly error?: { readonly code: number };
  readonly result: { readonly tools: readonly { readonly name: string }[]; readonly nextCursor?: string };
}

const page = async (mcp: TestMcp, cursor?: unknown): Promise<Page> =>
  (await (await mcp.post({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { cursor } })).json()) as Page;

test("pages have no gaps and no repeats", async () => {
  await using mcp = await mcpServer({ service: testRegistry({ tools: names }) });
  const found: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const { result } = await page(mcp, cursor);
    found.push(...result.tools.map(({ name }) => name));
    cursor = result.nextCursor;
    pages++;
  } while (cursor !== undefined);
  expect(pages).toBe(3);
  expect(new Set(found).size).toBe(found.length);
  expect(found.filter((name) => names.includes(name))).toEqual(names);
});

test("a cursor of a changed or unknown list is rejected; a reload without changes keeps it", async () => {
  await using mcp = await mcpServer({ service: testRegistry({ tools: names }) });
  const { nextCursor } = (await page(mcp)).result;
  mcp.server.replace(testRegistry({ tools: names }), openGate, mcpSettings());
  expect((await page(mcp, nextCursor)).error).toBeUndefined();
  mcp.server.replace(testRegistry({ tools: [...names, "zzz"] }), openGate, mcpSettings());
  for (const cursor of [nextCursor, "garbage", "", 7, null]) {
    expect([cursor, (await page(mcp, cursor)).error?.code]).toEqual([cursor, -32602]);
  }
});

test("modern lists have a TTL, legacy ones do not", async () => {
  await using mcp = await mcpServer();
  const response = await mcp.modern("resources/templates/list");
  expect(await response.json()).toMatchObject({
    result: {
      resultType: "complete",
      ttlMs: 60_000,
      cacheScope: "public",
      resourceTemplates: [{ name: "template" }],
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "eider-test" } },
    },
  });
  expect(Object.keys((await page(mcp)).result)).toEqual(["tools"]);
});
