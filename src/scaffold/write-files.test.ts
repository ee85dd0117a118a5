import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { existingFiles, writeFiles } from "./write-files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const texts = (...names: readonly string[]) => new Map(names.map((name) => [at(name), `text of ${name}`]));
const everything = async () => (await readdir(folder, { recursive: true })).sort();

test("all files, and the folders that they need", async () => {
  await writeFiles({ created: texts("a", "b/c", "b/d/e") });
  expect(await everything()).toEqual(["a", "b", "b/c", "b/d", "b/d/e"]);
  expect(await readFile(at("b/d/e"), "utf8")).toBe("text of b/d/e");
});

test("if a file exists, nothing is written, and the file stays", async () => {
  await writeFile(at("taken"), "old");
  await symlink(at("nowhere"), at("link"));
  expect(await existingFiles([at("a"), at("taken"), at("link")])).toEqual([at("taken"), at("link")]);
  const writing = writeFiles({ created: texts("a", "b/c", "taken") });
  await expect(writing).rejects.toThrow(`cannot write ${at("taken")}: it already exists; nothing was written`);
  expect(await everything()).toEqual(["link", "taken"]);
  expect(await readFile(at("taken"), "utf8")).toBe("old");
});

test("if a part of the path is a file, nothing is written", async () => {
  await writeFile(at("file"), "old");
  await expect(writeFiles({ created: texts("a/b", "file/c") })).rejects.toThrow("nothing was written");
  expect(await everything()).toEqual(["file"]);
});

test("without permission, nothing is written", async () => {
  await mkdir(at("locked"), { mode: 0o555 });
  await mkdir(at("open"));
  await chmod(at("open"), 0o777);
  // Permissions do not apply to root.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    await expect(writeFiles({ created: texts("open/a", "locked/b") })).rejects.toThrow("permission denied");
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  expect(await everything()).toEqual(["locked", "open"]);
});

test("a replaced file keeps its permissions, and a link to it stays", async () => {
  await writeFile(at("main"), "old", { mode: 0o640 });
  await symlink(at("main"), at("link"));
  await writeFiles({ created: texts("a"), replaced: { file: at("link"), text: "new" } });
  expect(await everything()).toEqual(["a", "link", "main"]);
  expect(await readFile(at("main"), "utf8")).toBe("new");
  expect((await lstat(at("main"))).mode & 0o777).toBe(0o640);
  expect((await lstat(at("link"))).isSymbolicLink()).toBe(true);
});

test("if a file cannot be replaced, nothing is written", async () => {
  await expect(writeFiles({ created: texts("a/b"), replaced: { file: at("gone"), text: "" } })).rejects.toThrow("gone");
  expect(await everything()).toEqual([]);
});
