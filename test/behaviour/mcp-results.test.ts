import { afterAll, beforeAll, expect, test } from "vitest";
import { type Json, type McpProgram, startMcp } from "../mcp-program.ts";

/** What tools give back, of the real program. The numbers are those of the acceptance list. */
let program: McpProgram;
beforeAll(async () => {
  program = await startMcp();
});
afterAll(() => program[Symbol.asyncDispose]());

const told = ({ content, isError }: Json): readonly unknown[] => [isError, content[0].text];

test("A15 a value that is wrong is told in words that a model can act on", async () => {
  const { status, message } = await program.modern("tools/call", {
    name: "find_customers",
    arguments: { status: "gone", id: 0, since: "2019-12-31", nonsense: true },
  });
  expect(status).toBe(200);
  expect(told(message?.result ?? {})).toEqual([
    true,
    [
      "id: Integer is less than the minimum allowed value",
      "status: Invalid enum value",
      "since: Date is before the minimum allowed date",
      "nonsense: Unknown parameter not defined in endpoint configuration",
    ].join("\n"),
  ]);
  expect(message?.result?.["structuredContent"]).toBeUndefined();
  const missing = await program.legacy("tools/call", { name: "find_customer", arguments: {} });
  expect([missing.status, ...told(missing.message?.result ?? {})]).toEqual([
    200,
    true,
    "id: Required field is missing",
  ]);
});

test("A16 an error of the database is told, without anything secret", async () => {
  const files = {
    "eider.yaml": `http-port: 0
mcp: { port: 0 }
template: { environment-whitelist: [SHOP_PASSWORD] }
connections:
  shop:
    properties: { password: "\${SHOP_PASSWORD}" }
`,
    "x.yaml":
      "mcp-tool: { name: bad_cast, description: x }\ntemplate-source: x.sql\nconnection: shop\nrequest: [{ field-name: text, field-in: query }]\n",
    "x.sql": "SELECT CAST('{{{conn.password}}}' || '{{params.text}}' AS INTEGER) AS n",
  };
  await using other = await startMcp(files, { env: { SHOP_PASSWORD: "hunter2" } });
  const result = await other.call("bad_cast", { text: "seven" });
  expect(told(result)).toEqual([
    true,
    expect.stringContaining("Conversion Error: Could not convert string '***seven'"),
  ]);
  expect(JSON.stringify(result) + other.stderr()).not.toContain("hunter2");
});

test("A18 a write tells what it changed, changes nothing when it fails, and runs once", async () => {
  const find = async (id: number): Promise<unknown> =>
    (await program.call("find_customers", { id }))["structuredContent"].rows;
  const added = await program.call("add_customer", { id: 20, name: "Dora" });
  expect(added["structuredContent"]).toEqual({ rows_affected: 1, data: [{ id: 20, name: "Dora" }] });
  expect(JSON.parse(added["content"][0].text)).toEqual(added["structuredContent"]);
  expect(await find(20)).toMatchObject([{ name: "Dora" }]);

  const again = await program.call("add_customer", { id: 20, name: "Dora" });
  expect(told(again)).toEqual([true, expect.stringContaining("Constraint Error")]);
  const half = await program.call("add_two", { id: 21, other: 20 });
  expect(told(half)).toEqual([true, expect.stringContaining("Constraint Error")]);
  expect(await find(21)).toEqual([]);
  expect((await program.call("add_two", { id: 21, other: 22 }))["structuredContent"]).toEqual({ rows_affected: 2 });

  expect((await program.call("replace_customer", { id: 20, name: "Dot" }))["structuredContent"]).toEqual({
    rows_affected: 1,
  });
  expect((await program.call("remove_customer", { id: 20 }))["structuredContent"]).toEqual({ rows_affected: 1 });
  expect((await program.call("remove_customer", { id: 20 }))["structuredContent"]).toEqual({ rows_affected: 0 });
  // Listing and describing it ran nothing.
  await program.modern("tools/list");
  expect((await program.call("find_customers", {}))["structuredContent"].total_count).toBe(5);
});

test("A18 hints say what a call may do, by its method", async () => {
  const { message } = await program.modern("tools/list");
  const tools: readonly Json[] = message?.result?.["tools"];
  const hints = (name: string): unknown => {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } =
      tools.find((tool) => tool["name"] === name)?.["annotations"] ?? {};
    return [readOnlyHint, destructiveHint, idempotentHint, openWorldHint];
  };
  expect(hints("find_customers")).toEqual([true, false, true, false]);
  expect(hints("add_customer")).toEqual([false, false, false, false]);
  expect(hints("replace_customer")).toEqual([false, true, true, false]);
  expect(hints("block_customer")).toEqual([false, true, false, false]);
  expect(hints("remove_customer")).toEqual([false, true, true, false]);
});

test("A19 more rows than a result may hold: as many as it may, and a word on the rest", async () => {
  const { content, structuredContent, isError } = await program.call("numbers");
  expect(isError).toBe(false);
  expect([structuredContent.rows.length, structuredContent.row_count, structuredContent.truncated]).toEqual([
    1000,
    1000,
    true,
  ]);
  expect(JSON.parse(content[0].text)).toEqual(structuredContent.rows);
  expect(content[1].text).toBe("Result limited to the first 1000 rows, there are more; use narrower filters");
  const page = await program.call("find_customers", { limit: 1, offset: 1 });
  expect(page["structuredContent"]).toMatchObject({ row_count: 1, truncated: true, next_offset: 2 });
  expect(page["content"][1].text).toContain("use limit/offset or narrower filters; the next offset is 2");
});

test("A19 rows without an end take neither time nor memory", async () => {
  const memory = (): Promise<number> => program.metric("process_resident_memory_bytes");
  const before = await memory();
  const { content, structuredContent } = await program.call("endless");
  expect(structuredContent.truncated).toBe(true);
  expect(Buffer.byteLength(content[0].text)).toBeLessThanOrEqual(100_000);
  expect(content[1].text).toContain("(100000 bytes is the limit), there are more");
  // Four million megabytes are there to be had.
  expect((await memory()) - before).toBeLessThan(300 * 2 ** 20);
});
