import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { blocksOf } from "./markdown.ts";
import { serveFolder } from "./serve-folder.ts";
import { problemsFrom } from "./service.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const page = read("README.md");
const blocks = blocksOf(page);
const shell = blocks.map(({ text }) => text).filter((_, index) => blocks[index]?.language === "sh");
const outputOf = (command: string): string => blocks[blocks.findIndex(({ text }) => text === command) + 1]?.text ?? "";
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

// Not in step with the service, which runs in this very process.
const run = async (command: string, folder: string): Promise<string> =>
  (await promisify(execFile)("sh", ["-c", command], { cwd: folder })).stdout;

/** As a person would: in the root of a clone, with nothing changed but the port. */
async function ask(command: string, folder: string, url: string): Promise<string> {
  const line = command.replace("http://127.0.0.1:8080", url);
  if (hasCurl) return run(line, folder);
  const [, address = ""] = /^curl '([^']+)'\n$/.exec(line) ?? [];
  return (await fetch(address)).text();
}

test("every command works as printed, and gives what is shown", async () => {
  const folder = mkdtempSync(join(tmpdir(), "eider-readme-"));
  try {
    mkdirSync(join(folder, "examples"));
    cpSync(join(root, "examples/quickstart"), join(folder, "examples/quickstart"), { recursive: true });
    for (const name of ["bin", "dist", "package.json", "node_modules"])
      symlinkSync(join(root, name), join(folder, name));
    const [files, others] = [
      shell.filter((text) => text.startsWith("cat ")),
      shell.filter((text) => !text.startsWith("cat ")),
    ];
    expect(files).toHaveLength(2);
    for (const command of files) expect(await run(command, folder)).toBe("");
    await using served = await serveFolder(join(folder, "examples/quickstart"));
    const curls = others.filter((text) => text.startsWith("curl "));
    expect(curls.length).toBeGreaterThan(4);
    for (const command of curls) expect(`${await ask(command, folder, served.url)}\n`).toBe(outputOf(command));
    const programs = others.filter((text) => text.startsWith("node "));
    for (const command of programs) expect(await run(command, folder)).toBe(outputOf(command));
    expect(others.filter((text) => !/^(curl|node) /.test(text))).toEqual(["npm ci && npm start\n"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the commands are those of package.json", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: { start: string; test: string } };
  expect(scripts.start).toContain("serve --config examples/quickstart/eider.yaml");
  expect(page).toContain("`npm ci && npm start`");
  expect(page).toContain("`npm ci && npm test`");
  expect(scripts).toHaveProperty("test");
});

test("the example of a problem is what is printed", async () => {
  const shown = blocks.find(({ text }) => text.includes("best-customers.yaml:"))?.text.trim() ?? "";
  const yaml = /<<'YAML'\n([\s\S]*?)^YAML$/m.exec(page)?.[1] ?? "";
  const name = "examples/quickstart/endpoints/best-customers";
  const problems = await problemsFrom({
    "eider.yaml": "connections:\n  shop:\n",
    [`${name}.yaml`]: yaml.replace("type: int", "type: integer"),
    [`${name}.sql`]: "SELECT 1",
  });
  expect(problems).toEqual([shown]);
});
