import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith, run } from "./program.ts";

/** It is there after the build: not when types are checked. */
const BUILT = new URL("../../dist/library.js", import.meta.url).href;

/** The parts of a client that are copied as they were written belong to the package. */
test("the built program writes a client", async () => {
  const files = {
    "eider.yaml": "connections: { memory: {} }\n",
    "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\n",
    "x.sql": "SELECT 1::BIGINT AS n",
  };
  const { code, stdout, stderr } = await run(files, { args: ["client"] });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("export type GetXRow = {\n  n: bigint | null;\n};\n");
  for (const part of ["export class EiderError<", "\nfunction openMethods(", "\nfunction parseExact("])
    expect(stdout).toContain(part);
});

test("the package gives the same text to programs that call it, and every problem", async () => {
  await using folder = await folderWith({
    "eider.yaml": "connections: { memory: {} }\n",
    "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\n",
    "x.sql": "SELECT 1::BIGINT AS n",
    "bad/eider.yaml": "conections: {}\n",
  });
  const { clientOf } = (await import(BUILT)) as typeof import("../../src/library.ts");
  const config = join(folder.path, "eider.yaml");
  const text = await clientOf({ config, bigint: "string" });
  expect(text).toContain("n: NumberText | null;");
  expect(await clientOf({ config })).toContain("n: bigint | null;");
  await expect(clientOf({ config: join(folder.path, "bad/eider.yaml") })).rejects.toThrow(
    "did you mean 'connections'?",
  );
});
