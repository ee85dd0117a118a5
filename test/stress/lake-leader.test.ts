import { spawn, spawnSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { folderWith } from "../process/program.ts";
import { until } from "../until.ts";

const DIST = pathToFileURL(resolve(import.meta.dirname, "../../dist")).href;
const LEASE_MS = 5_000;
const postgres = sharedPostgres();
const testWithProcesses = testNeeding(missingExtensions("ducklake", "postgres_scanner"), missingPostgres);

/** A process over a lake that competes for the lead, and refreshes when it is told to: a table, from a file that it names. */
const PROGRAM = `
  const [dist, options] = process.argv.slice(1);
  const { extensions, leaseMs, lake } = JSON.parse(options);
  const load = (file) => import(dist + "/" + file);
  const { openDuckDb } = await load("engines/duckdb/open-duckdb.js");
  const { attachLake } = await load("cache/ducklake.js");
  const { openLeadership } = await load("cache/leader.js");
  const { openSnapshotStore } = await load("cache/duckdb-store.js");
  const { afterMs } = await load("cache/schedule.js");
  const say = (line) => console.log(JSON.stringify(line));
  const settings = new Map([["extension_directory", extensions], ["threads", "2"]]);
  const engine = await openDuckDb({ path: undefined, settings, connections: [], maxConcurrentQueries: 8, maxQueued: 99 });
  await attachLake(engine, lake, afterMs);
  const leadership = await openLeadership({
    engine, catalog: "cache", id: String(process.pid), leaseMs, now: () => performance.now(), after: afterMs,
    report: (event) => say({ event }), changed: (leads) => say({ leads }),
  });
  say({ started: leadership.isLeader() });
  const randomId = () => crypto.randomUUID();
  const never = new AbortController().signal;
  async function refresh({ table, csv }) {
    const guards = leadership.fence();
    const store = await openSnapshotStore(engine, { now: Date.now, randomId, catalog: "cache", shared: { fence: () => guards } });
    const statements = [
      "CREATE OR REPLACE TABLE cache.s." + table + " AS SELECT range::VARCHAR AS x FROM range(100)",
      "INSERT INTO cache.s." + table + " SELECT x FROM read_csv('" + csv + "', columns = {'x': 'VARCHAR'}, auto_detect = false)",
    ];
    const definition = {
      name: { schema: "s", table }, mode: { kind: "full" }, retention: { keepLast: 1, maxAgeMs: undefined },
      connections: [], scheduleMs: undefined,
      render: () => ({ kind: "own", statements: statements.map((sql) => ({ sql, values: [] })) }),
    };
    const snapshot = await store.refresh(definition, undefined, never);
    return { table, id: snapshot.id, rows: snapshot.rows };
  }
  async function list() {
    const store = await openSnapshotStore(engine, { now: Date.now, randomId, catalog: "cache", shared: { fence: () => [] } });
    return (await store.load()).map(({ name, id, rows }) => ({ table: name.table, id, rows }));
  }
  const { createInterface } = await import("node:readline");
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const { refreshed, listed } = JSON.parse(line);
    try {
      if (refreshed !== undefined) say({ refreshed: await refresh(refreshed) });
      if (listed !== undefined) say({ listed: await list() });
    } catch (error) {
      say({ failed: error.failure?.message ?? String(error) });
    }
  });
`;

interface Said {
  readonly started?: boolean;
  readonly leads?: boolean;
  readonly event?: unknown;
  readonly refreshed?: { readonly table: string; readonly id: number; readonly rows: number };
  readonly listed?: readonly unknown[];
  readonly failed?: string;
}

interface Contender extends AsyncDisposable {
  readonly said: readonly Said[];
  tell(line: unknown): void;
  signal(name: NodeJS.Signals): void;
  /** Waits until it has said something. */
  heard<K extends keyof Said>(key: K, isIt?: (value: Said[K]) => boolean): Promise<Said[K]>;
}

async function contender(lake: unknown): Promise<Contender> {
  const options = JSON.stringify({
    extensions: extensionDirectory("ducklake", "postgres_scanner"),
    leaseMs: LEASE_MS,
    lake,
  });
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM, "--", DIST, options], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise((done) => child.once("exit", done));
  const said: Said[] = [];
  let complaints = "";
  createInterface({ input: child.stdout }).on("line", (line) => said.push(JSON.parse(line)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  const it: Contender = {
    said,
    tell: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    signal: (name) => void child.kill(name),
    async heard(key, isIt = (value) => value !== undefined) {
      return await until(`${key} of a process`, () => {
        if (child.exitCode !== null) throw new Error(`it ended: ${complaints}`);
        return said.find((line) => key in line && isIt(line[key]));
      }).then((line) => line[key]);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
  await it.heard("started", () => true);
  return it;
}

async function lakeIn(folder: string): Promise<unknown> {
  const database = await (await postgres()).createDatabase();
  return { catalog: "cache", metadataPath: `postgres:${database}`, dataPath: join(folder, "rows") };
}

const MAKE_PIPE = "mkfifo";

/** A file that blocks its reader until something is written to it. */
function pipeIn(folder: string): string {
  const path = join(folder, "pipe.csv");
  expect(spawnSync(MAKE_PIPE, [path]).status).toBe(0);
  return path;
}

/** It has written rows for a table, and is not through with it. */
function isAtWork(folder: string, table: string): Promise<void> {
  return expect.poll(async () => (await readdir(join(folder, "rows/s", table)).catch(() => [])).length).toBe(1);
}

testWithProcesses("a leader that is killed in the middle of a refresh is followed by the other process", async () => {
  await using folder = await folderWith({ "more.csv": "a\nb\n" });
  const csv = join(folder.path, "more.csv");
  const lake = await lakeIn(folder.path);
  await using first = await contender(lake);
  await using second = await contender(lake);
  expect([first, second].map(({ said }) => said.find(({ started }) => started !== undefined)?.started)).toEqual([
    true,
    false,
  ]);
  first.tell({ refreshed: { table: "t", csv } });
  expect(await first.heard("refreshed")).toEqual({ table: "t", id: 1, rows: 102 });
  first.tell({ refreshed: { table: "u", csv: pipeIn(folder.path) } });
  await isAtWork(folder.path, "u");
  first.signal("SIGKILL");
  await second.heard("leads", (leads) => leads === true);
  // Nothing is left of what was not finished, and nothing is in the way of doing it again.
  second.tell({ listed: true });
  expect(await second.heard("listed")).toEqual([{ table: "t", id: 1, rows: 102 }]);
  second.tell({ refreshed: { table: "u", csv } });
  expect(await second.heard("refreshed")).toEqual({ table: "u", id: 1, rows: 102 });
  expect(second.said.filter(({ event, failed }) => event !== undefined || failed !== undefined)).toEqual([]);
});

testWithProcesses("a leader that is stopped in the middle of a refresh, and comes back, cannot commit it", async () => {
  await using folder = await folderWith({ "more.csv": "a\nb\n" });
  const csv = join(folder.path, "more.csv");
  const pipe = pipeIn(folder.path);
  const lake = await lakeIn(folder.path);
  await using first = await contender(lake);
  await using second = await contender(lake);
  first.tell({ refreshed: { table: "t", csv: pipe } });
  await isAtWork(folder.path, "t");
  first.signal("SIGSTOP");
  await second.heard("leads", (leads) => leads === true);
  // Of another table: nothing but the lead itself is in the way of the first.
  second.tell({ refreshed: { table: "u", csv } });
  expect(await second.heard("refreshed")).toEqual({ table: "u", id: 1, rows: 102 });
  first.signal("SIGCONT");
  await writeFile(pipe, "late\n");
  expect(await first.heard("failed")).toContain("another process leads the refreshes of this cache now");
  await first.heard("leads", (leads) => leads === false);
  second.tell({ listed: true });
  expect(await second.heard("listed")).toEqual([{ table: "u", id: 1, rows: 102 }]);
  expect(second.said.filter(({ leads }) => leads === false)).toEqual([]);
});
