import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { start } from "./program.ts";

const root = resolve(import.meta.dirname, "../..");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };

/** A copy of the built program, whose files a test may change. */
async function copyOfProgram(): Promise<
  { readonly folder: string; readonly script: string; readonly cache: string } & AsyncDisposable
> {
  const folder = await mkdtemp(join(tmpdir(), "eider-copy-"));
  for (const name of ["bin", "dist/program", "package.json"]) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  return {
    folder,
    script: join(folder, "dist/program/main.cjs"),
    cache: join(folder, "dist/program/main.cache"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Runs a program and reports what became of its code cache. */
function run(folder: string, args: readonly string[] = ["--version"], flags: readonly string[] = []) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, join(folder, "bin/eider.cjs"), ...args], {
    env: { PATH: process.env["PATH"], NODE_DEBUG: "eider" },
    encoding: "utf8",
  });
  return { stdout, stderr, status, cache: /code cache: (.*)/.exec(stderr)?.[1] };
}

const works = { stdout: `eider ${version}\n`, status: 0 };

test("the program starts with the code cache of its build", () => {
  expect(run(root)).toMatchObject({ ...works, cache: "used" });
});

test("the files of the program are freed while it loads, without a full collection", () => {
  // V8 frees a buffer that a running function still holds only in a full collection, which a small service runs late or never.
  const script = `
    require(${JSON.stringify(join(root, "bin/load-program.cjs"))}).loadProgram();
    require("node:v8").setFlagsFromString("--expose-gc");
    require("node:vm").runInNewContext("gc")({ type: "minor" });
    process.stdout.write(String(process.memoryUsage().arrayBuffers));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", script], {
    env: { PATH: process.env["PATH"] },
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(Number(stdout)).toBeGreaterThan(0);
  expect(Number(stdout)).toBeLessThan(1_000_000);
});

test("a cache that V8 made with other flags is not used", () => {
  expect(run(root, ["--version"], ["--stack-size=900"])).toMatchObject({ ...works, cache: "rejected" });
});

const OTHER_BUILD = "damaged, or of another build";

test.each([1, 20, 5_000, 100_000])("damage at every %i bytes of the cache is found", async (step) => {
  await using copy = await copyOfProgram();
  const bytes = await readFile(copy.cache);
  for (let at = 8; at < bytes.length; at += step) bytes.writeUInt8(bytes.readUInt8(at) ^ 0x55, at);
  await writeFile(copy.cache, bytes);
  expect(run(copy.folder)).toMatchObject({ ...works, cache: OTHER_BUILD });
});

test.each([8, 9, 4096, 1_000_000])("a cache of which only %i bytes were written is not used", async (size) => {
  await using copy = await copyOfProgram();
  await truncate(copy.cache, size);
  expect(run(copy.folder)).toMatchObject({ ...works, cache: OTHER_BUILD });
});

test("without a cache, or with an empty one, the program works", async () => {
  await using copy = await copyOfProgram();
  await writeFile(copy.cache, "");
  expect(run(copy.folder)).toMatchObject({ ...works, cache: expect.stringContaining("outside buffer bounds") });
  await rm(copy.cache);
  expect(run(copy.folder)).toMatchObject({ ...works, cache: expect.stringContaining("ENOENT") });
  const check = run(copy.folder, ["check", "--config", join(root, "examples/quickstart/eider.yaml")]);
  expect(check).toMatchObject({ status: 0, cache: expect.stringContaining("ENOENT") });
});

test("a program that was changed does what it says now, even if its length is the same", async () => {
  await using copy = await copyOfProgram();
  const text = await readFile(copy.script, "latin1");
  expect(text).toContain("unknown command '");
  await writeFile(copy.script, text.replace("unknown command '", "strange command '"));
  const { stderr, cache } = run(copy.folder, ["nosuch"]);
  expect(cache).toBe(OTHER_BUILD);
  expect(stderr).toContain("strange command 'nosuch'");
});

test("the stack of an unexpected error points into the program", async () => {
  await using copy = await copyOfProgram();
  const text = await readFile(copy.script, "latin1");
  await writeFile(copy.script, text.replace(/^async function main\(args\) \{$/m, '$&\nthrow new Error("unexpected");'));
  const line = text.split("\n").findIndex((each) => each.startsWith("async function main(args) {")) + 2;
  const { stderr, status } = run(copy.folder);
  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`Error: unexpected\\n\\s+at main \\(.*/dist/program/main\\.cjs:${line}:`));
});

/** The packages that a project loads from its start to its first response, without DuckDB's own. */
async function packagesOf(settings: string): Promise<readonly string[]> {
  await using program = await start(
    {
      "eider.yaml": `connections:\n  c:\n${settings}`,
      "a.yaml": "url-path: /a\ntemplate-source: a.sql\nconnection: [c]\n",
      "a.sql": "SELECT 1 AS n",
    },
    { args: ["serve", "--port", "0"], env: { NODE_DEBUG: "module,esm" } },
  );
  expect((await fetch(`${await program.url()}/a`)).status).toBe(200);
  const found = program.stderr().matchAll(/node_modules\/((?:@[^/"'\s]+\/)?[^/"'\s]+)\//g);
  const names = new Set([...found].map(([, name = ""]) => name));
  expect([...names]).toContain("@duckdb/node-bindings");
  return [...names].filter((name) => !name.startsWith("@duckdb") && name !== "detect-libc").toSorted();
}

test("a project without metrics, watching, tokens and traces loads no library for them", async () => {
  expect(await packagesOf("")).toEqual([]);
});

test("a project with metrics loads what writes them", async () => {
  expect(await packagesOf("metrics:\n  public: true\n")).toContain("prom-client");
});
