import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testRuntime } from "../../test/runtime.ts";
import { runCommandLine } from "./run.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-client-"));
  await writeFile(join(folder, "eider.yaml"), "connections: { memory: {} }\n");
  await writeFile(join(folder, "x.yaml"), "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\n");
  await writeFile(join(folder, "x.sql"), "SELECT 1::BIGINT AS n");
});

afterAll(() => rm(folder, { recursive: true }));

async function run(...args: readonly string[]): Promise<{ code: number; text: string; errors: string }> {
  const runtime = testRuntime({ cwd: folder });
  const code = await runCommandLine(["client", ...args], runtime);
  return { code, text: runtime.stdoutText(), errors: runtime.stderrText() };
}

test("without --out it is printed", async () => {
  const { code, text, errors } = await run();
  expect([code, errors]).toEqual([0, ""]);
  expect(text).toContain("export function createClient(options: ClientOptions): Client {");
  expect(text).toContain("  n: bigint | null;\n");
});

test.each([
  [["--out", "client.ts", "--bigint", "string"], "NumberText"],
  [["--bigint=number", "--out=client.ts", "--config", "eider.yaml"], "number"],
])("%j writes the file, and says nothing", async (args, type) => {
  expect(await run(...args)).toEqual({ code: 0, text: "", errors: "" });
  expect(await readFile(join(folder, "client.ts"), "utf8")).toContain(`  n: ${type} | null;\n`);
});

test("the cache file is left alone", async () => {
  await writeFile(join(folder, "cached.yaml"), "connections: { memory: {} }\ncache: { path: cache.duckdb }\n");
  const cached = "url-path: /y\ntemplate-source: x.sql\nconnection: [memory]\ncache: { enabled: true, schedule: 1h }\n";
  await writeFile(join(folder, "y.yaml"), cached);
  expect(await run("--config", "cached.yaml", "--out", "client.ts")).toEqual({ code: 0, text: "", errors: "" });
  expect(existsSync(join(folder, "cache.duckdb"))).toBe(false);
  await rm(join(folder, "y.yaml"));
});

test.each([
  [["--bigint", "double"], 2, "--bigint: 'double' is not valid; use one of bigint, string, number"],
  [["--out"], 2, "'--out <value>' argument missing"],
  [["--out="], 2, "--out: missing value"],
  [["--out", "--bigint", "string"], 2, "'--out' argument is ambiguous"],
  [["--out", "no/such/folder/client.ts"], 2, "--out: cannot write 'no/such/folder/client.ts' (ENOENT)"],
  [["--yaml"], 2, "--yaml"],
  [["--config", "none.yaml"], 1, "none.yaml"],
])("%j ends with %i", async (args, code, message) => {
  expect(await run(...args)).toEqual({ code, text: "", errors: expect.stringContaining(message) });
});
