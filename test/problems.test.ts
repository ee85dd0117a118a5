import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadProject } from "../src/config/load-project.ts";
import { formatProblem } from "../src/config/problem.ts";

/**
 * One folder per mistake: a project, and in `expected.txt` what `eider check` says about it when it is started there.
 * `env.json` holds environment variables, for the few that need some.
 */
const root = join(import.meta.dirname, "problems");
const folders = readdirSync(root).sort();

async function checkFolder(folder: string): Promise<string> {
  const env = existsSync(join(folder, "env.json")) ? JSON.parse(readFileSync(join(folder, "env.json"), "utf8")) : {};
  const { problems } = await loadProject({ cwd: folder, env, overrides: {} });
  return problems.map((problem) => `${formatProblem(problem)}\n`).join("");
}

test.each(folders)("%s", async (name) => {
  const folder = join(root, name);
  expect(await checkFolder(folder)).toBe(readFileSync(join(folder, "expected.txt"), "utf8"));
});

test("every problem is one line", async () => {
  for (const name of folders) {
    const lines = (await checkFolder(join(root, name))).split("\n").slice(0, -1);
    expect(lines.filter((line) => !/^[^:\s]+:\d+:\d+: \S/.test(line))).toEqual([]);
  }
});
