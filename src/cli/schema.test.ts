import { expect, test } from "vitest";
import { testRuntime } from "../../test/runtime.ts";
import { runCommandLine } from "./run.ts";

async function print(...args: readonly string[]): Promise<{ code: number; text: string; errors: string }> {
  const runtime = testRuntime({ cwd: "/nowhere" });
  const code = await runCommandLine(["schema", ...args], runtime);
  return { code, text: runtime.stdoutText(), errors: runtime.stderrText() };
}

test.each([
  [["main"], "Eider: main file", "http-port"],
  [["endpoint"], "Eider: endpoint file", "url-path"],
  [[], "Eider: endpoint file", "url-path"],
  [["test"], "Eider: endpoint tests", "endpoint"],
])("eider schema %j is that of '%s', with what its keys mean", async (args, title, key) => {
  const { code, text, errors } = await print(...args);
  expect([code, errors]).toEqual([0, ""]);
  expect(JSON.parse(text)).toMatchObject({
    $schema: "http://json-schema.org/draft-07/schema#",
    title,
    type: "object",
    properties: { [key]: { description: expect.any(String) } },
    additionalProperties: false,
  });
});

test.each([[["both"]], [["main", "endpoint"]], [["--json"]]])("eider schema %j is wrong usage", async (args) => {
  expect(await print(...args)).toEqual({ code: 2, text: "", errors: expect.stringContaining("main, endpoint") });
});
