import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../src/cli/run.ts";
import { testRuntime } from "./runtime.ts";

/**
 * One folder per mistake: a project, and in `expected.txt` what `eider check` prints about it when it is started there,
 * to the letter. `env.json` holds environment variables, for the few that need some. After a deliberate change,
 * `EIDER_TEST_WRITE=1` writes what is printed now: read the difference before it is committed.
 */
const root = join(import.meta.dirname, "problems");
const folders = readdirSync(root).sort();

async function checkFolder(folder: string): Promise<{ printed: string; code: number }> {
  const env = existsSync(join(folder, "env.json")) ? JSON.parse(readFileSync(join(folder, "env.json"), "utf8")) : {};
  const runtime = testRuntime({ cwd: folder, env });
  const code = await runCommandLine(["check"], runtime);
  return { printed: runtime.stderrText(), code };
}

test.each(folders)("%s", async (name) => {
  const folder = join(root, name);
  const { printed, code } = await checkFolder(folder);
  if (process.env["EIDER_TEST_WRITE"] === "1") writeFileSync(join(folder, "expected.txt"), printed);
  expect(printed).toBe(readFileSync(join(folder, "expected.txt"), "utf8"));
  const lines = printed.split("\n").slice(0, -1);
  expect(lines.filter((line) => !/^[^:\s]+:\d+:\d+: \S/.test(line))).toEqual([]);
  const errors = lines.filter((line) => !/^[^:\s]+:\d+:\d+: warning: /.test(line));
  expect(code).toBe(errors.length > 0 ? 1 : 0);
});
