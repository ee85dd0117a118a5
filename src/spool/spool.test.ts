import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RequestFailure } from "../failure.ts";
import { openSpool, type Spool } from "./spool.ts";
import type { SpooledFile } from "./spooled-file.ts";

const PID = 4711;
const DEAD = 4712;
const ALIVE = 4713;
const STARTED = Date.parse("2026-01-02T00:00:00Z");

let parent: string;
let spool: Spool;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "eider-test-"));
  spool = opened(parent);
});
afterEach(async () => {
  await spool.close();
  await rm(parent, { recursive: true, force: true });
});

function opened(folder: string): Spool {
  return openSpool({ parent: folder, self: { pid: PID, startedAt: STARTED, isRunning: (pid) => pid !== DEAD } });
}

async function bytesOf(file: SpooledFile): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof RequestFailure ? error.failure : error;
}

test("a file has no name once it is written, and all its bytes", async () => {
  expect(readdirSync(parent)).toEqual([]);
  const bytes = Buffer.alloc(1_000_000, "abcdefg");
  const { file, value } = await spool.write(async (path) => {
    await writeFile(path, bytes);
    return path;
  });
  expect(value.startsWith(join(spool.folder, "/"))).toBe(true);
  expect(statSync(spool.folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(spool.folder)).toEqual([]);
  expect(file.size).toBe(bytes.length);
  expect((await bytesOf(file)).equals(bytes)).toBe(true);
  expect((await bytesOf(file)).equals(bytes)).toBe(true);
  await file.close();
  await file.close();
  await spool.close();
  expect(readdirSync(parent)).toEqual([]);
});

test("an empty file has no pieces; one that is left early is closed all the same", async () => {
  const empty = await spool.write((path) => writeFile(path, ""));
  expect([empty.file.size, (await bytesOf(empty.file)).length]).toEqual([0, 0]);
  await empty.file.close();
  const large = await spool.write((path) => writeFile(path, Buffer.alloc(1_000_000)));
  for await (const piece of large.file.pieces()) {
    expect(piece.length).toBeLessThan(1_000_000);
    break;
  }
  await large.file.close();
});

test("many at once, names all different", async () => {
  const files = await Promise.all(
    Array.from({ length: 50 }, (_, i) => spool.write((path) => writeFile(path, String(i)).then(() => path))),
  );
  expect(new Set(files.map(({ value }) => value)).size).toBe(50);
  expect(String(await bytesOf((files[7] as (typeof files)[number]).file))).toBe("7");
  await Promise.all(files.map(({ file }) => file.close()));
});

test("work that fails leaves nothing, and its failure is handed on", async () => {
  const reason = new Error("no");
  const work = spool.write(async (path) => {
    await writeFile(path, "half");
    throw reason;
  });
  expect(await failure(work)).toBe(reason);
  expect(readdirSync(spool.folder)).toEqual([]);
  // Work that wrote nothing at all is a failure as well.
  expect(await failure(spool.write(async () => {}))).toMatchObject({
    kind: "query-failed",
    message: expect.stringMatching(/^the spool .* cannot be used: the file is gone$/),
  });
});

test("what the dead left is swept at first use, what the living have is not", async () => {
  const uuid = "0189aaaa-0000-4000-8000-000000000000";
  const folders = {
    dead: `eider-spool-${DEAD}-${uuid}`,
    alive: `eider-spool-${ALIVE}-${uuid}`,
    earlier: `eider-spool-${PID}-${uuid}`,
    sibling: `eider-spool-${PID}-${uuid.replace("0", "1")}`,
    other: `eider-spool-${DEAD}`,
  };
  for (const name of Object.values(folders)) {
    await mkdir(join(parent, name));
    await writeFile(join(parent, name, "x"), "x");
  }
  utimesSync(join(parent, folders.earlier), STARTED / 1000 - 5, STARTED / 1000 - 5);
  utimesSync(join(parent, folders.sibling), STARTED / 1000 + 5, STARTED / 1000 + 5);
  const { file } = await spool.write((path) => writeFile(path, "x"));
  await file.close();
  const left = Object.entries(folders).filter(([, name]) => existsSync(join(parent, name)));
  expect(left.map(([kind]) => kind)).toEqual(["alive", "sibling", "other"]);
});

test("a deleted folder is created again; a missing parent is created", async () => {
  spool = opened(join(parent, "not", "there"));
  for (const _ of [1, 2]) {
    const { file } = await spool.write((path) => writeFile(path, "x"));
    await file.close();
    await rm(spool.folder, { recursive: true });
  }
});

test("a folder that cannot be used is a failure without its path, and may be fixed", async () => {
  const blocked = join(parent, "file");
  await writeFile(blocked, "");
  spool = opened(blocked);
  expect(await failure(spool.write((path) => writeFile(path, "x")))).toEqual({
    kind: "query-failed",
    message:
      "the spool (duckdb.temp_directory, or the system's folder for temporary files) cannot be used: it is not a folder",
  });
  await rm(blocked);
  const { file } = await spool.write((path) => writeFile(path, "x"));
  await file.close();
});

test("a folder of the same name from another process is not used", async () => {
  await mkdir(spool.folder);
  await chmod(spool.folder, 0o777);
  expect(await failure(spool.write((path) => writeFile(path, "x")))).toMatchObject({ kind: "query-failed" });
});

test("a folder for the database is private, goes with the spool, and is swept when its process has exited", async () => {
  const left = join(parent, `eider-spill-${DEAD}-0189aaaa-0000-4000-8000-000000000000`);
  await mkdir(left);
  const folder = await spool.makeSpill();
  expect([existsSync(left), statSync(folder).mode & 0o777]).toEqual([false, 0o700]);
  await writeFile(join(folder, "x"), "x");
  await spool.close();
  expect(readdirSync(parent)).toEqual([]);
});

test("links to files are in a private folder, which goes with the spool and leaves the files", async () => {
  const file = join(parent, "file");
  await writeFile(file, "content");
  const folder = await spool.linkFiles(new Map([["deep/x", file]]));
  expect([statSync(folder).mode & 0o777, readFileSync(join(folder, "deep/x"), "utf8")]).toEqual([0o700, "content"]);
  await spool.close();
  expect(readdirSync(parent)).toEqual(["file"]);
  expect(readFileSync(file, "utf8")).toBe("content");
  await expect(opened(file).linkFiles(new Map([["x", file]]))).rejects.toThrow("cannot be used: it is not a folder");
});

test("where no folder can be created, the first use reports it", async () => {
  const blocked = join(parent, "file");
  await writeFile(blocked, "");
  const folder = await opened(blocked).makeSpill();
  expect(folder.startsWith(blocked)).toBe(true);
  expect(existsSync(folder)).toBe(false);
});

test("after the end nothing is written", async () => {
  await spool.close();
  expect(await failure(spool.write((path) => writeFile(path, "x")))).toEqual({ kind: "draining" });
  expect(readdirSync(parent)).toEqual([]);
});

test("a file that grows has no name from the start, and gives back what was appended", async () => {
  const growing = await spool.openGrowing();
  expect(readdirSync(spool.folder)).toEqual([]);
  await growing.append(Buffer.alloc(300_000, "a"));
  await growing.append(Buffer.alloc(5, "b"));
  const file = growing.finish();
  expect(file.size).toBe(300_005);
  const bytes = await bytesOf(file);
  expect([bytes.length, bytes.subarray(-6).toString()]).toEqual([300_005, "abbbbb"]);
  await file.close();
  await spool.close();
  expect(await failure(spool.openGrowing())).toEqual({ kind: "draining" });
});

test("a database is copied with its logs, into a folder that goes with the spool", async () => {
  for (const name of ["db", "db.wal", "db.wal.checkpoint", "db2", "other.wal"])
    await writeFile(join(parent, name), name);
  const copy = await spool.copyDatabase(join(parent, "db"));
  expect(readdirSync(dirname(copy)).sort()).toEqual(["db", "db.wal", "db.wal.checkpoint"]);
  expect([copy.endsWith("/db"), readFileSync(`${copy}.wal`, "utf8")]).toEqual([true, "db.wal"]);
  await spool.close();
  expect(existsSync(copy)).toBe(false);
  await expect(opened(join(parent, "db")).copyDatabase(join(parent, "db"))).rejects.toThrow("it is not a folder");
});

test("the copy of a database that changes meanwhile is made again", async () => {
  const file = join(parent, "db");
  const versions = ["1", "2"].map((version) => Buffer.alloc(16 << 20, version));
  await writeFile(file, versions[0] ?? "");
  const copying = spool.copyDatabase(file);
  await writeFile(file, versions[1] ?? "");
  const bytes = readFileSync(await copying);
  expect(versions.some((version) => version.equals(bytes))).toBe(true);
});
