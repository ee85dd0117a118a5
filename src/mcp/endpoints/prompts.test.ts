import { expect, test } from "vitest";
import { openTestEndpoints, tool } from "../../../test/mcp-product.ts";

const PROMPT = {
  "p.yaml": `mcp-prompt:
  name: report
  description: Asks for a report
  template: |
    About {{region}} & {{{params.day}}}.
    {{#day}}
    Only <{{.}}>.
    {{/day}}
    {{^day}}Any day.{{/day}}
  arguments: [region, day]
`,
};

test("arguments fill a prompt, and all of them are optional", async () => {
  await using mcp = await openTestEndpoints(PROMPT);
  expect(await mcp.prompt("report", { region: "<North>", day: "Monday", other: "x" })).toBe(
    "About <North> & Monday.\nOnly <Monday>.\n\n",
  );
  expect(await mcp.prompt("report", { day: "" })).toBe("About  & .\nAny day.\n");
  expect(mcp.definition("prompts", "report")).toEqual({
    name: "report",
    description: "Asks for a report",
    arguments: [
      { name: "region", required: false },
      { name: "day", required: false },
    ],
  });
  expect(mcp.observed).toMatchObject([{ endpoint: "mcp-prompt report", status: 200 }, {}]);
});

test("an unknown prompt is not found", async () => {
  await using mcp = await openTestEndpoints(PROMPT);
  await expect(mcp.prompt("reprot")).rejects.toMatchObject({
    problem: { kind: "unknown-name", message: "Prompt not found: reprot" },
  });
});

test("an argument is completed like a parameter of the same name", async () => {
  const values = Array.from({ length: 150 }, (_, index) => `r${index}`);
  await using mcp = await openTestEndpoints({
    ...PROMPT,
    ...tool(
      "find",
      "SELECT '{{params.region}}' AS x, {{params.open}} AS y",
      `request:\n  - {field-name: region, field-in: query, validators: [{type: enum, allowedValues: [${values}]}]}\n` +
        "  - {field-name: open, field-in: query, validators: [{type: boolean}]}\n",
    ),
  });
  const complete = (name: string, value: string) =>
    mcp.product.service.complete({ kind: "prompt", name: "report" }, { name, value }, new Map());
  expect(await complete("region", "r14")).toEqual({
    values: ["r14", ...values.slice(140)],
    total: 11,
    hasMore: false,
  });
  const all = await complete("region", "");
  expect([all.values.length, all.total, all.hasMore]).toEqual([100, 150, true]);
  expect((await complete("open", "")).values).toEqual([]);
  expect((await complete("day", "")).values).toEqual([]);
  await expect(
    mcp.product.service.complete({ kind: "prompt", name: "x" }, { name: "a", value: "" }, new Map()),
  ).rejects.toMatchObject({ problem: { kind: "unknown-name" } });
});
