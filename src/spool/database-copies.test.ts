import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testSelf } from "../../test/self.ts";
import { isDatabaseFile, type KnownContents, openDatabaseCopies } from "./database-copies.ts";

let folder: string;
let temporary: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-originals-"));
  temporary = await mkdtemp(join(tmpdir(), "eider-temporary-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
  await rm(temporary, { recursive: true });
});

const open = (known: KnownContents = new Map()) => openDatabaseCopies({ ...testSelf, temporary, known });

test("a copy has the same name and contents, and so have the files beside it", async () => {
  const path = join(folder, "shop.db");
  await writeFile(path, "contents");
  await writeFile(`${path}.wal`, "changes");
  const copies = await open();
  const copy = await copies.copy(path);
  expect([basename(copy), dirname(copy) === folder]).toEqual(["shop.db", false]);
  expect([await readFile(copy, "utf8"), await readFile(`${copy}.wal`, "utf8")]).toEqual(["contents", "changes"]);
  expect((await stat(dirname(copy))).mode & 0o777).toBe(0o700);
  expect(await copies.copy(path)).toBe(copy);
  expect(copies.showOriginals(`cannot open ${copy}!`)).toBe(`cannot open ${path}!`);
  await writeFile(copy, "other");
  expect(await readFile(path, "utf8")).toBe("contents");
  await copies.close();
  expect(await readdir(temporary)).toEqual([]);
});

test("a file that does not exist has a path for its copy, but none is made", async () => {
  const copies = await open();
  const copy = await copies.copy(join(folder, "new.db"));
  expect(await readdir(dirname(copy))).toEqual([]);
  await copies.close();
});

test("all copies of a run have the same contents", async () => {
  const path = join(folder, "changing.db");
  await writeFile(path, "one");
  const known: KnownContents = new Map();
  const first = await open(known);
  await first.copy(path);
  await writeFile(path, "three");
  const second = await open(known);
  await expect(second.copy(path)).rejects.toThrow(`'${path}' has changed since the first test; run the tests again`);
  await first.close();
  await second.close();
});

test("a folder cannot be copied", async () => {
  const copies = await open();
  await expect(copies.copy(folder)).rejects.toThrow(`'${folder}' cannot be copied: `);
  await copies.close();
});

test.each([
  ["duckdb", Buffer.from("\0\0\0\0\0\0\0\0DUCK\0\0\0\0"), true],
  ["sqlite", Buffer.from("SQLite format 3\0"), true],
  ["csv", Buffer.from("id,name\n1,DUCK\n"), false],
  ["empty", Buffer.alloc(0), false],
])("%s is recognized by its first bytes", async (name, bytes, expected) => {
  const path = join(folder, name);
  await writeFile(path, bytes);
  expect(await isDatabaseFile(path)).toBe(expected);
});

test.each(["", "nowhere"])("'%s' is no database file", async (name) => {
  expect(await isDatabaseFile(join(folder, name))).toBe(false);
});
