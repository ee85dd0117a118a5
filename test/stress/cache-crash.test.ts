import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { openSnapshotStore } from "../../src/cache/duckdb-store.ts";
import { folderWith } from "../process/program.ts";
import { type TestEngine, testEngine } from "../suites/duckdb-engine.ts";
import { until } from "../until.ts";

/** More of them by hand, when something about the store has changed. */
const KILLS = Number(process.env["EIDER_CRASH_KILLS"] ?? 4);
const LONGEST_MS = 500;

const DIST = pathToFileURL(`${resolve(import.meta.dirname, "../../dist")}/`).href;

/** What every child begins with: the built program's own engine and store, on a file. */
const OPENED = `
import { randomUUID } from "node:crypto";
const [path] = process.argv.slice(1);
const { openDuckDb } = await import("${DIST}engines/duckdb/open-duckdb.js");
const { openSnapshotStore } = await import("${DIST}cache/duckdb-store.js");
const engine = await openDuckDb({
  path: undefined,
  settings: new Map([["threads", "2"], ...SETTINGS]),
  connections: [],
  maxConcurrentQueries: 4,
  maxQueued: 100,
});
await engine.attach("cache", "ATTACH '" + path + "' AS cache");
const store = await openSnapshotStore(engine, { now: Date.now, randomId: randomUUID });
const signal = new AbortController().signal;
const definitionOf = (table, mode, query) => ({
  name: { schema: "s", table },
  mode,
  retention: { keepLast: 1, maxAgeMs: undefined },
  connections: [],
  scheduleMs: undefined,
  render: ({ snapshotId }) => ({ kind: "select", statements: [{ sql: query(snapshotId), values: [] }] }),
});
const say = (what) => process.stdout.write(JSON.stringify(what) + "\\n");
`;

/** Refreshes three caches at once, drops what is old, and keeps rows of calls, until it is killed. */
const REFRESHER = `const SETTINGS = [["checkpoint_threshold", "128KB"]];${OPENED}
const known = await store.load();
say({ opened: known.length });
const forEver = async (table, mode, query) => {
  const definition = definitionOf(table, mode, query);
  let current = known.findLast(({ name }) => name.table === table);
  for (;;) {
    const next = await store.refresh(definition, current, signal);
    if (current !== undefined) await store.drop([current]);
    current = next;
    say({ table, id: next.id });
  }
};
const size = (id) => (id % 4 === 0 ? 150_000 : 1_000 + id);
const rows = (id, count) => "SELECT " + id + " AS c, range AS x, md5(concat(range, '-', " + id + ")) AS sum FROM range(" + count + ")";
await Promise.all([
  forEver("full", { kind: "full" }, (id) => rows(id, size(id))),
  forEver("append", { kind: "append", cursor: "c" }, (id) => rows(id, 100)),
  forEver("merge", { kind: "merge", cursor: "c", primaryKey: ["x"] }, (id) => rows(id, 40 + id)),
  (async () => {
    for (;;) await store.materialize({ name: { schema: "s", table: "result" }, connections: [], statements: [{ sql: rows(1, 50), values: [] }] }, signal);
  })(),
]);
`;

interface Child {
  readonly lines: () => readonly string[];
  readonly errors: () => string;
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
}

function startChild(command: string, args: readonly string[]): Child {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  const exited = new Promise<void>((done) => child.once("close", () => done()));
  return {
    process: child,
    exited,
    lines: () => texts.stdout.split("\n").slice(0, -1),
    errors: () => texts.stderr,
  };
}

const script = (text: string, path: string): readonly string[] => ["--input-type=module", "-e", text, path];

/** How many rows a snapshot of each cache must have, by its id. */
const EXPECTED: Readonly<Record<string, (id: number) => number>> = {
  full: (id) => (id % 4 === 0 ? 150_000 : 1_000 + id),
  append: (id) => id * 100,
  merge: (id) => 40 + id,
};

async function textsOf(t: TestEngine, sql: string): Promise<readonly (readonly unknown[])[]> {
  return (await t.read({ statements: sql })).rows;
}

/** Opens the file that a killed process has left, and says what must not be. Gives the ids of the current snapshots. */
async function checkFile(
  path: string,
): Promise<{ readonly wrong: readonly string[]; readonly ids: readonly number[] }> {
  await using t = await testEngine();
  const wrong: string[] = [];
  await t.engine.attach("cache", `ATTACH '${path}' AS cache`);
  const tablesNow = async (): Promise<readonly string[]> => {
    const sql = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'cache' AND schema_name = 's' ORDER BY 1";
    return (await textsOf(t, sql)).map(([name]) => String(name));
  };
  const audited = (await textsOf(t, "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'audit'"))[0]?.[0];
  const known =
    audited === 0
      ? []
      : (await textsOf(t, "SELECT physical_table FROM cache.audit.snapshots ORDER BY 1")).map(([name]) => String(name));
  // Rows of calls go when the store opens; a snapshot is there with its bookkeeping or not at all.
  const before = (await tablesNow()).filter((name) => !name.includes("__r_"));
  if (before.join() !== known.join()) wrong.push(`tables ${before.join()}, but known are ${known.join()}`);

  const store = await openSnapshotStore(t.engine, { now: Date.now, randomId: () => crypto.randomUUID() });
  const after = await tablesNow();
  if (after.join() !== known.join()) wrong.push(`left over: ${after.join()}, known are ${known.join()}`);
  const snapshots = await store.load();
  const current = new Map(snapshots.map((snapshot) => [snapshot.name.table, snapshot]));
  for (const [table, { id, rows, physicalTable }] of current) {
    const whole = "count(*), coalesce(bool_and(sum = md5(concat(x, '-', c))), true), max(c)::BIGINT";
    for (const place of [physicalTable, table]) {
      const [found] = await textsOf(t, `SELECT ${whole} FROM cache.s.${place}`);
      const expected = [EXPECTED[table]?.(id), true, id];
      if (JSON.stringify(found) !== JSON.stringify(expected) || rows !== expected[0]) {
        wrong.push(`${table} ${id}, ${rows} rows: ${JSON.stringify(found)} in ${place}`);
      }
    }
    const recorded = await textsOf(t, `SELECT max(snapshot) FROM cache.audit.refreshes WHERE table_name = '${table}'`);
    if (recorded[0]?.[0] !== id) wrong.push(`${table} ${id}: the last record tells of ${recorded[0]?.[0]}`);
  }
  return { wrong, ids: [...current.values()].map(({ id }) => id) };
}

test(`kill -9, ${KILLS} times, while caches are refreshed: each is whole, and nothing is left over`, {
  timeout: 30_000 + KILLS * 8_000,
}, async () => {
  await using folder = await folderWith({});
  const path = `${folder.path}/cache.db`;
  const wrong: string[] = [];
  let refreshes = 0;
  let ids: readonly number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const child = startChild(process.execPath, script(REFRESHER, path));
    // Every fourth is killed while it opens the file.
    if (kill % 4 !== 3) await until("a refresh", () => child.lines().length > 3 || child.errors() !== "");
    await wait(Math.random() * LONGEST_MS);
    child.process.kill("SIGKILL");
    await child.exited;
    if (child.errors() !== "") wrong.push(child.errors());
    refreshes += Math.max(0, child.lines().length - 1);
    const found = await checkFile(path);
    wrong.push(...found.wrong.map((text) => `kill ${kill}: ${text}`));
    // What was acknowledged is there.
    for (const line of child.lines()) {
      const { table, id } = JSON.parse(line) as { readonly table?: string; readonly id?: number };
      const at = ["append", "full", "merge"].indexOf(table ?? "");
      if (id !== undefined && id > (found.ids[at] ?? 0)) wrong.push(`kill ${kill}: ${table} ${id} is lost`);
    }
    ids = found.ids;
  }
  expect(wrong).toEqual([]);
  // Else it has shown nothing.
  expect(refreshes).toBeGreaterThan(KILLS * 2);
  expect(ids).toHaveLength(3);
});

/** Refreshes with more rows than the file may have, in both ways in which DuckDB writes: at once into the file, or first into its log. */
const FILLER = `const SETTINGS = [];${OPENED}
const rows = (count, more) => () => "SELECT range AS x, 1 AS c, md5(concat(range, '-', 1)) AS sum" + more + " FROM range(" + count + ")";
const attempt = (table, query, previous) => store.refresh(definitionOf(table, { kind: "full" }, query), previous, signal).then(
  (snapshot) => ({ snapshot }),
  (error) => ({ failure: error.failure }),
);
const first = (await attempt("small", rows(1000, ""))).snapshot;
say(await attempt("small", rows(1_500_000, ", hash(range) AS y, hash(range + 1) AS z"), first));
say((await store.load()).map(({ id, rows }) => [id, rows]));
say((await attempt("small", rows(2000, ""), first)).snapshot.rows);
let last;
for (let times = 0; times < 20 && last?.failure === undefined; times++) last = await attempt("log", rows(100_000, ""));
say(last);
say((await attempt("small", rows(3000, ""), first)).snapshot.rows);
await engine.close();
`;

// A shell sets the limit; Windows has none of this kind.
test.skipIf(process.platform === "win32")("a file that cannot grow: the refresh fails, the rest goes on", async () => {
  await using folder = await folderWith({});
  const path = `${folder.path}/cache.db`;
  // In blocks of 512 bytes: 12 MiB.
  const limited = ["-c", 'ulimit -f 24576; exec "$0" "$@"', process.execPath, ...script(FILLER, path)];
  const child = startChild("sh", limited);
  await child.exited;
  expect(child.errors()).toBe("");
  const failure = expect.objectContaining({
    kind: "query-failed",
    message: expect.stringMatching(/File too large/i),
  });
  expect(child.lines().map((line) => JSON.parse(line))).toEqual([{ failure }, [[1, 1000]], 2000, { failure }, 3000]);
  await using t = await testEngine();
  await t.engine.attach("cache", `ATTACH '${path}' AS cache`);
  expect(await textsOf(t, "SELECT count(*), bool_and(sum = md5(concat(x, '-', 1))) FROM cache.s.small")).toEqual([
    [3000, true],
  ]);
});
