import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testNeeding } from "../needing.ts";
import { type Files, type Program, start } from "../process/program.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

const isLinux = process.platform === "linux";
const needsLinux = testNeeding(isLinux ? undefined : "signals and /proc as Linux has them");
const needsLimits = testNeeding(
  isLinux && spawnSync("prlimit", ["--version"]).status === 0 ? undefined : "there is no prlimit",
);

function read(name: string, sql: string, yaml = ""): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [memory]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
const PROJECT: Files = {
  "eider.yaml":
    "http-port: 0\nconnections: { memory: {} }\nlimits: { stalled-client-timeout: 1s, max-concurrent-queries: 2 }\n",
  "data.csv": "a\n1\n",
  ...read("quick", "SELECT 1 AS a"),
  ...read("file", "SELECT a FROM read_csv('data.csv')"),
  ...read("work", "SELECT sum(a.range * b.range) AS s FROM range(5000) a, range(5000) b"),
  ...read("rows", "SELECT range AS n, repeat('x', 100) AS filler FROM range(100000000)"),
  ...read(
    "cached",
    `SELECT run FROM ${TABLE}`,
    "cache: { table: c, template-file: c.sql, schedule: 1s, retention: { keep-last-snapshots: 1 } }\n",
  ),
  "c.sql": "SELECT gen_random_uuid()::VARCHAR AS run",
  ...read("refreshes", "SELECT count(*)::INTEGER AS n FROM cache.audit.refreshes"),
};

const descriptors = async ({ pid }: Program): Promise<number> => (await readdir(`/proc/${pid}/fd`)).length;

async function ask(url: string, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(url + path);
  return [answer.status, await answer.text()];
}

function noErrors(program: Program): void {
  expect(program.stderr()).not.toContain('"level":"error"');
  expect(program.hasExited()).toBe(false);
}

/** Sets how many file descriptors it may have; it keeps those that it has. */
function allow({ pid }: Program, count: number): void {
  expect(spawnSync("prlimit", ["--pid", String(pid), `--nofile=${count}:`]).status).toBe(0);
}

/** A connection that may be refused, or closed before it was heard. */
function tryToConnect(url: string): Promise<Socket | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once("connect", () => resolve(socket)).once("error", () => resolve(undefined));
  });
}

needsLimits(
  "no file descriptors left: connected clients are served, others are rejected, and it recovers",
  async () => {
    await using program = await start(PROJECT);
    const url = await program.url();
    expect(await ask(url, "/file")).toEqual([200, '[{"a":1}]']);
    expect(await ask(url, "/cached")).toMatchObject([200, expect.any(String)]);
    using kept = await openSocket(url);
    kept.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    await kept.take(1);
    const before = await descriptors(program);
    const limit = before + 40;
    allow(program, limit);
    const crowd = await Promise.all(Array.from({ length: 200 }, () => tryToConnect(url)));
    await until("the last descriptor", async () => (await descriptors(program)) >= limit - 2);
    kept.send("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
    expect((await kept.take(2))[1]).toMatchObject({ status: 200, body: '[{"a":1}]' });
    // Now not a single one: what needs a file fails with an error that says why.
    allow(program, 3);
    kept.send("GET /file HTTP/1.1\r\nHost: x\r\n\r\nGET /quick?format=parquet HTTP/1.1\r\nHost: x\r\n\r\n");
    const [, , file, parquet] = await kept.take(4);
    expect([file?.status, file?.body]).toEqual([500, expect.stringMatching(/Too many open files/)]);
    expect([parquet?.status, parquet?.body]).toEqual([
      500,
      expect.stringMatching(/too many (?:files are open|open files)/i),
    ]);
    await wait(1_500);
    noErrors(program);
    for (const socket of crowd) socket?.destroy();
    allow(program, limit);
    await until("its descriptors", async () => (await descriptors(program)) <= before + 5);
    for (const path of ["/quick", "/file"]) expect(await ask(url, path)).toEqual([200, '[{"a":1}]']);
    expect(await ask(url, "/cached")).toMatchObject([200, expect.any(String)]);
    await until("health", async () => (await ask(url, "/health/ready"))[1] === '{"status":"ok"}');
    noErrors(program);
  },
);

/** A client in a process of its own, which can be stopped: then its kernel still takes bytes, but nobody reads them. */
function client(url: string, path: string): ChildProcess {
  const { hostname, port } = new URL(url);
  const script = `require("net").connect(${port}, "${hostname}", function () {
    this.write("GET ${path} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");
    this.once("data", () => { this.pause(); console.log("begun"); });
  })`;
  return spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
}

// The tests from here on share a program. The first one counts its descriptors, before others have used it.
let program: Program;
let url: string;
beforeAll(async () => {
  program = await start(PROJECT);
  url = await program.url();
});
afterAll(() => program?.[Symbol.asyncDispose]());

needsLinux("clients that are stopped in the middle of a long answer are cut off, and hold nobody up", async () => {
  expect((await ask(url, "/quick"))[0]).toBe(200);
  const before = await descriptors(program);
  const clients = Array.from({ length: 6 }, () => client(url, "/rows"));
  try {
    await Promise.all(clients.map((child) => new Promise((begun) => child.stdout?.once("data", begun))));
    for (const child of clients) child.kill("SIGSTOP");
    // There are two slots, and six answers that nobody reads.
    for (let times = 0; times < 5; times++)
      expect(await ask(url, `/work?n=${times}`)).toMatchObject([200, expect.any(String)]);
    await until("the end of their connections", async () => (await descriptors(program)) <= before + 2);
    expect(program.stderr().split("response aborted").length - 1).toBeLessThanOrEqual(6);
    expect((await ask(url, "/quick"))[0]).toBe(200);
    noErrors(program);
  } finally {
    for (const child of clients) child.kill("SIGKILL");
  }
});

test("a client that never reads while its call is refused costs nothing", async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(url)));
  for (const socket of sockets) {
    socket.pause();
    socket.send("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n".repeat(500));
  }
  expect((await ask(url, "/quick"))[0]).toBe(200);
  for (const socket of sockets) socket.reset();
  expect((await ask(url, "/quick"))[0]).toBe(200);
  noErrors(program);
});

needsLinux(
  "stopped for five seconds and continued: every call is answered, and no timer makes up for lost time",
  async () => {
    expect((await ask(url, "/cached"))[0]).toBe(200);
    expect((await ask(url, "/work?warm=1"))[0]).toBe(200);
    const refreshes = async (): Promise<number> =>
      (JSON.parse((await ask(url, "/refreshes"))[1]) as [{ n: number }])[0].n;
    const flying = [ask(url, "/work"), ask(url, "/work?again=1"), ask(url, "/quick")];
    expect((await ask(url, "/health"))[0]).toBe(200);
    const asked = performance.now();
    const before = await refreshes();
    program.signal("SIGSTOP");
    const stopped = performance.now();
    await wait(200);
    const late = Array.from({ length: 20 }, () => ask(url, "/quick"));
    await wait(4_800);
    program.signal("SIGCONT");
    const continued = performance.now();
    for (const [status] of await Promise.all([...flying, ...late])) expect(status).toBe(200);
    const soon = await refreshes();
    const elapsed = stopped - asked + performance.now() - continued;
    // One scheduled run that was late, and one for each second in which it was not stopped.
    expect(soon - before).toBeLessThanOrEqual(2 + Math.ceil(elapsed / 1_000));
    await until("the schedule", async () => (await refreshes()) > soon);
    expect(await ask(url, "/health/ready")).toEqual([200, '{"status":"ok"}']);
    noErrors(program);
  },
);
