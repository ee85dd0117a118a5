import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import { type Audit, openAudit } from "./audit.ts";

let folder: string;
let path: string;
let audit: Audit;
let events: ServiceEvent[];
let recorded: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  path = join(folder, "audit.log");
  events = [];
  recorded = 0;
  audit = await opened(path);
});
afterEach(async () => {
  await audit.close();
  await rm(folder, { recursive: true, force: true });
});

function opened(file: string): Promise<Audit> {
  return openAudit(
    { sink: { kind: "file", path: file }, redact: [] },
    { stdout: () => expect.unreachable(), report: (event) => events.push(event) },
  );
}

/** Calls with numbers that go on, of about as many bytes as asked for. */
function record(count: number, bytes = 0, into = audit): void {
  for (let index = 0; index < count; index++) {
    into.record({
      time: new Date(0),
      requestId: `${recorded++}`,
      surface: "rest",
      endpoint: "GET /x",
      identity: undefined,
      address: "10.0.0.1",
      parameters: bytes === 0 ? [] : [["filler", "x".repeat(Math.min(bytes, 1000))]],
      rows: undefined,
      durationMs: 1,
      status: 200,
    });
  }
}

/** The numbers of the calls in a file: fails when a line is not whole. */
function numbersIn(file: string): number[] {
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => Number(JSON.parse(line).request_id));
}

const endsWith = (file: string, number: number): boolean =>
  existsSync(file) && readFileSync(file, "utf8").includes(`"request_id":"${number}"`);
const written = (number: number): Promise<boolean> => until(`line ${number}`, () => endsWith(path, number));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const dependency = (): string => `audit file ${path}`;
const succeeds = (command: string, ...args: readonly string[]): boolean => spawnSync(command, args).status === 0;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("on standard output each call is a line at once", async () => {
  const lines: string[] = [];
  const printed = await openAudit(
    { sink: { kind: "stdout" }, redact: [] },
    { stdout: (line) => lines.push(line), report: () => {} },
  );
  record(2, 0, printed);
  await printed.close();
  expect(lines.map((line) => JSON.parse(line).request_id)).toEqual(["0", "1"]);
  expect(lines.join("")).toMatch(/^[^\n]+\n[^\n]+\n$/);
});

test("a new file can be read by its owner only, and what is there stays", async () => {
  expect(statSync(path).mode & 0o777).toBe(0o600);
  record(2);
  await audit.close();
  audit = await opened(path);
  record(1);
  await audit.close();
  expect(numbersIn(path)).toEqual([0, 1, 2]);
  expect(events).toEqual([]);
});

test("closing writes everything; what comes later is left out", async () => {
  record(10_000);
  const closing = audit.close();
  record(1);
  await closing;
  await audit.close();
  expect(numbersIn(path)).toEqual(upTo(10_000));
  expect(events).toEqual([]);
});

test("under load every line is there, in order, while the file is moved away again and again", async () => {
  const files: string[] = [];
  for (let round = 0; round < 1000; round++) {
    record(50);
    await turn();
    if (round % 100 === 50 && existsSync(path)) {
      files.push(join(folder, `audit.${files.length}`));
      await rename(path, files.at(-1) ?? "");
    }
  }
  await audit.close();
  files.push(path);
  expect(files.length).toBeGreaterThan(5);
  expect(files.flatMap(numbersIn)).toEqual(upTo(50_000));
  expect(events).toEqual([]);
});

describe("log rotation", () => {
  test("may move the file: the next lines go to a new one", async () => {
    record(2);
    await written(1);
    await rename(path, `${path}.1`);
    record(2);
    await audit.close();
    expect([numbersIn(`${path}.1`), numbersIn(path)]).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("may put an empty one in its place", async () => {
    record(2);
    await written(1);
    await rename(path, `${path}.1`);
    await writeFile(path, "");
    record(2);
    await audit.close();
    expect(numbersIn(path)).toEqual([2, 3]);
  });

  test("may delete it, even under load", async () => {
    for (let round = 0; round < 300; round++) {
      record(20);
      await turn();
      if (round % 20 === 10) await rm(path, { force: true });
    }
    await written(recorded - 1);
    await rm(path);
    record(2);
    await audit.close();
    expect(numbersIn(path)).toEqual([6000, 6001]);
    expect(events).toEqual([]);
  });

  test("may copy it and cut it off", async () => {
    record(2);
    await written(1);
    truncateSync(path, 0);
    record(2);
    await audit.close();
    expect(numbersIn(path)).toEqual([2, 3]);
  });
});

describe("a file that cannot be written", () => {
  test.each([
    ["a missing folder", "none/audit.log", "its folder does not exist"],
    ["a folder", ".", "it is a folder"],
    ["a file as a folder", "audit.log/x", "its folder is not a folder"],
  ])("at start is an error: %s", async (_, name, reason) => {
    const file = join(folder, name);
    await expect(opened(file)).rejects.toThrow(`the audit file ${file} cannot be opened: ${reason}`);
  });

  test("at start is an error: a pipe without a reader", async () => {
    const pipe = join(folder, "pipe");
    expect(succeeds("mkfifo", pipe)).toBe(true);
    await expect(opened(pipe)).rejects.toThrow("the pipe has no reader");
  });

  test("is reported once, tried again, and reported when it works", async () => {
    record(1);
    await written(0);
    await rename(folder, `${folder}-away`);
    try {
      for (let round = 0; round < 20; round++) {
        record(1);
        await turn();
      }
      await until("the report", () => events.length > 0);
      record(5);
      await mkdir(folder);
      record(1);
      await until("the other report", () => events.length > 1);
      expect(events).toEqual([
        {
          kind: "dependency-down",
          dependency: dependency(),
          message: "its folder does not exist; lines are held in memory meanwhile",
        },
        { kind: "dependency-up", dependency: dependency() },
      ]);
      await audit.close();
      expect(numbersIn(`${folder}-away/audit.log`)).toEqual([0]);
      expect(numbersIn(path)).toEqual(upTo(recorded).slice(1));
    } finally {
      await rm(`${folder}-away`, { recursive: true });
    }
  });

  test("is tried again without new lines too", async () => {
    await rm(folder, { recursive: true });
    record(3);
    await until("the report", () => events.length > 0);
    await mkdir(folder);
    await until("the lines", () => endsWith(path, 2));
    await audit.close();
    expect(numbersIn(path)).toEqual([0, 1, 2]);
    expect(events.map(({ kind }) => kind)).toEqual(["dependency-down", "dependency-up"]);
  });

  test("holds lines of 8 MiB and no more, and tells how many were lost", async () => {
    await rm(folder, { recursive: true });
    for (let round = 0; round < 20; round++) {
      record(1000, 1000);
      await turn();
    }
    await until("both reports", () => events.length > 1);
    await mkdir(folder);
    record(1);
    await until("the lines", () => events.some(({ kind }) => kind === "dependency-up"));
    record(1);
    await audit.close();
    const numbers = numbersIn(path);
    const kept = numbers.length - 1;
    expect(numbers).toEqual([...upTo(kept), recorded - 1]);
    const bytes = statSync(path).size;
    expect(bytes).toBeGreaterThan(8_300_000);
    expect(bytes).toBeLessThan(8_400_000);
    expect(events).toEqual([
      {
        kind: "dependency-down",
        dependency: dependency(),
        message: "its folder does not exist; lines are held in memory meanwhile",
      },
      {
        kind: "dependency-down",
        dependency: dependency(),
        message: "8 MiB of lines are waiting; new ones are lost",
      },
      { kind: "dependency-down", dependency: dependency(), message: `${recorded - numbers.length} lines were lost` },
      { kind: "dependency-up", dependency: dependency() },
    ]);
  });

  test("does not hold up the end: what is lost is counted", async () => {
    record(2);
    await written(1);
    await rm(folder, { recursive: true });
    record(3);
    await audit.close();
    expect(events.map((event) => "message" in event && event.message)).toEqual([
      "its folder does not exist; lines are held in memory meanwhile",
      "3 lines were lost",
    ]);
  });
});

/** A file system of 64 KiB, when we may make one. */
function mountSmall(at: string): boolean {
  return succeeds("mount", "-t", "tmpfs", "-o", "size=64k", "eider-test", at);
}

function canMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), "eider-mount-"));
  const mounted = mountSmall(at);
  if (mounted) succeeds("umount", at);
  rmdirSync(at);
  return mounted;
}

const mayMount = process.env["EIDER_TEST_REQUIRE"] === "all" || canMount();
const small = mayMount
  ? "a disk that is full"
  : "a disk that is full (left out: mounting a small one is not permitted)";

// Where we may not mount: the name says so.
describe.skipIf(!mayMount)(small, () => {
  let disk: string;
  beforeEach(async () => {
    await audit.close();
    disk = join(folder, "disk");
    await mkdir(disk);
    expect(mountSmall(disk)).toBe(true);
    path = join(disk, "audit.log");
    audit = await opened(path);
    // Room for a page or two.
    writeFileSync(join(disk, "filler"), Buffer.alloc(64 * 1024 - 12 * 1024));
  });
  afterEach(async () => {
    await audit.close();
    expect(succeeds("umount", disk)).toBe(true);
  });

  async function fill(): Promise<void> {
    record(30, 700);
    await until("the report", () => events.length > 0);
    expect(events).toEqual([
      {
        kind: "dependency-down",
        dependency: dependency(),
        message: "no space is left; lines are held in memory meanwhile",
      },
    ]);
    // The last line is there in part.
    expect(readFileSync(path, "utf8")).toMatch(/[^\n]$/);
  }

  const recovered = async (): Promise<unknown> =>
    await until("the other report", () => events.find(({ kind }) => kind === "dependency-up"));

  test("gets the rest of a line when there is room again", async () => {
    await fill();
    await rm(join(disk, "filler"));
    record(5);
    await recovered();
    await audit.close();
    expect(numbersIn(path)).toEqual(upTo(35));
  });

  test("gets a line from its beginning after the file was cut off", async () => {
    await fill();
    truncateSync(path, 0);
    await rm(join(disk, "filler"));
    record(5);
    await recovered();
    await audit.close();
    const numbers = numbersIn(path);
    expect(numbers).toEqual(upTo(35).slice(numbers[0]));
    expect(numbers[0]).toBeGreaterThan(5);
  });

  test("gets a line from its beginning in a new file after the old one was moved", async () => {
    await fill();
    await rename(path, `${path}.1`);
    await rm(join(disk, "filler"));
    record(5);
    await recovered();
    await audit.close();
    const old = readFileSync(`${path}.1`, "utf8").split("\n").length - 1;
    expect(numbersIn(path)).toEqual(upTo(35).slice(old));
  });
});
