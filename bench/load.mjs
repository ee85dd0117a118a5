// Shared by the benchmarks: child processes with their CPU time and memory, and a small HTTP load generator.
import { spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import duckdb from "@duckdb/node-bindings";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** A temporary folder with these files. It is deleted when the process exits. */
export function folderOf(files) {
  const folder = mkdtempSync(join(tmpdir(), "eider-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** An `extension_directory` for DuckDB with an extension from EIDER_TEST_EXTENSIONS, a folder of extension files. */
export function extensionFolder(name) {
  const file = `${name}.duckdb_extension`;
  const given = join(process.env.EIDER_TEST_EXTENSIONS ?? "", file);
  if (!existsSync(given)) throw new Error(`EIDER_TEST_EXTENSIONS names no folder with ${file}`);
  const folder = folderOf({});
  const place = join(folder, duckdb.library_version(), `linux_${process.arch === "x64" ? "amd64" : process.arch}`);
  mkdirSync(place, { recursive: true });
  copyFileSync(given, join(place, file));
  return folder;
}

/** Runs SQL in a new DuckDB with the extensions of this folder. */
export async function runSql(extensions, sql) {
  const config = duckdb.create_config();
  duckdb.set_config(config, "extension_directory", extensions);
  const connection = await duckdb.connect(await duckdb.open(":memory:", config));
  await duckdb.query(connection, sql);
  duckdb.disconnect_sync(connection);
}

/** Starts a Node program and waits for the URL that it prints. */
export const start = (args, options) => startProgram(process.execPath, args, options);

/** Starts a program and waits for the URL that it prints to either output: the first group of `address`. */
export async function startProgram(command, args, options = {}, address = /http:\/\/([\d.]+:\d+)/) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  ended.then(() => process.off("exit", end));
  const host = await new Promise((resolve, reject) => {
    let text = "";
    const look = (bytes) => {
      text += bytes;
      const found = address.exec(text);
      if (found) resolve(found[1]);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("error", reject);
    ended.then((code) => reject(new Error(`${command} ended with ${code}: ${text}`)));
  });
  child.stdout.removeAllListeners("data").resume();
  // From now on, its errors are printed, or go to `options.errors`.
  child.stderr.removeAllListeners("data").pipe(options.errors ?? process.stderr);
  return {
    url: `http://${host}`,
    pid: child.pid,
    /** Resolves to its exit code, or to the signal that ended it. */
    ended,
    /** CPU time so far, in ms. */
    cpu: () => cpuOf(child.pid),
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
    /** Ends it without waiting for its requests. */
    kill: () => child.kill("SIGKILL"),
  };
}

/** Starts the service on a free port. */
export const startEider = (folder, tree = root, env = process.env) =>
  start([join(tree, "bin/eider.cjs"), "serve", "--config", join(folder, "eider.yaml"), "--port", "0"], { env });

export async function startBoth(folder) {
  const args = [join(root, "bin/eider.cjs"), "serve", "--config", join(folder, "eider.yaml"), "--port", "0"];
  const both = /REST listening on http:\/\/(\S+)\nMCP listening on http:\/\/\S+\/mcp/;
  let mcp = "";
  const program = await startProgram(
    process.execPath,
    args,
    {},
    {
      exec(text) {
        const found = both.exec(text);
        mcp = /MCP listening on (http:\/\/[^/]+)/.exec(text)?.[1] ?? "";
        return found;
      },
    },
  );
  return { ...program, mcp };
}

export function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Resident memory in MiB: now, and the maximum since the last reset. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
  return { now: mib("VmRSS"), most: mib("VmHWM") };
}

export const resetPeak = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, "5");

/**
 * Sends requests over keep-alive connections, each as soon as the previous response has arrived: GET, or POST with JSON if there
 * is a `body`. Every response must have status 200. `path` and `body` get the number of the request and the number of the
 * client. `headers` are lines that end in CR LF. `host` is the value of the Host header.
 */
export async function load(url, { clients, requests, path, body, headers = "", host = "bench" }) {
  const { hostname, port } = new URL(url);
  let sent = 0;
  const began = performance.now();
  const client = (_, number) =>
    new Promise((resolve, reject) => {
      const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
      let head = Buffer.alloc(0);
      let bodyIsComplete;
      const ask = () => {
        if (sent >= requests) {
          socket.end();
          resolve();
          return;
        }
        const at = sent++;
        if (body === undefined) socket.write(`GET ${path(at, number)} HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`);
        else socket.write(postOf(path(at, number), body(at, number), `Host: ${host}\r\n${headers}`));
      };
      socket.on("connect", ask).on("error", reject);
      socket.on("data", (bytes) => {
        let body = bytes;
        if (bodyIsComplete === undefined) {
          head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
          const end = head.indexOf("\r\n\r\n");
          if (end < 0) return;
          const text = head.latin1Slice(0, end);
          if (!text.startsWith("HTTP/1.1 200")) reject(new Error(head.toString()));
          bodyIsComplete = completeBody(text);
          body = head.subarray(end + 4);
          head = Buffer.alloc(0);
        }
        if (!bodyIsComplete(body)) return;
        bodyIsComplete = undefined;
        ask();
      });
    });
  await Promise.all(Array.from({ length: clients }, client));
  return { perSecond: (requests / (performance.now() - began)) * 1000 };
}

const LAST_CHUNK = "\r\n0\r\n\r\n";

/** Gets the parts of a body as they arrive, and tells after which one it is complete. Nothing follows: requests are not pipelined. */
function completeBody(head) {
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    let missing = Number(length);
    return (bytes) => {
      missing -= bytes.length;
      return missing === 0;
    };
  }
  let last = "";
  return (bytes) => {
    last = (last + bytes.subarray(-LAST_CHUNK.length).latin1Slice()).slice(-LAST_CHUNK.length);
    return last === LAST_CHUNK;
  };
}

const postOf = (path, body, headers) =>
  `POST ${path} HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** One million rows of eight columns: the table of most benchmarks. */
export const tableSql = `CREATE TABLE t AS SELECT range::BIGINT AS id, (range * 1.37)::DECIMAL(18, 2) AS amount,
  range / 7.3 AS ratio, 'customer number ' || range AS name, DATE '2020-01-01' + (range % 1500)::INT AS day,
  TIMESTAMP '2020-01-01 00:00:00.123456' + INTERVAL (range) SECOND AS at, range % 3 = 0 AS flag,
  CASE WHEN range % 4 = 0 THEN NULL ELSE 'note ' || range END AS note FROM range(1000000)`;

const BLOCK = `request:
  - field-name: id
    field-in: query
    validators:
      - type: int
        min: 0
  - field-name: name
    field-in: query
    validators:
      - type: string
        max: 50
  - field-name: sort
    field-in: query
    default: id
    validators:
      - type: enum
        allowedValues: [id, name]
`;
export const FLOW = `request:
  - { field-name: id, field-in: query, validators: [{ type: int, min: 0 }] }
  - { field-name: name, field-in: query, validators: [{ type: string, max: 50 }] }
  - { field-name: sort, field-in: query, default: id, validators: [{ type: enum, allowedValues: [id, name] }] }
`;

/** A project of n endpoints over one table, each with parameters, sections and an enum. */
export function manyEndpoints(n, request = BLOCK) {
  const files = {
    "eider.yaml": "connections:\n  t:\n    init: CREATE TABLE t AS SELECT range AS id, 'x' AS name FROM range(1000)\n",
  };
  for (let i = 0; i < n; i++) {
    files[`e${i % 20}/e${i}.yaml`] = `url-path: /e${i}
description: Endpoint number ${i}
template-source: e${i % 20}/e${i}.sql
connection: [t]
${request}`;
    files[`e${i % 20}/e${i}.sql`] = `SELECT id, name, ${i} AS n FROM t WHERE true
{{#params.id}} AND id = {{params.id}}{{/params.id}}
{{#params.name}} AND name LIKE '%{{{params.name}}}%'{{/params.name}}
ORDER BY {{{params.sort}}}
`;
  }
  return folderOf(files);
}

/**
 * The environment of timed starts. Some variables make Node.js itself slower (NODE_EXTRA_CA_CERTS by 40 ms of CPU), and V8 rejects
 * code caches if NODE_OPTIONS sets one of its flags.
 */
const START_ENV = { PATH: process.env.PATH, HOME: process.env.HOME };

/** Wall-clock time, CPU time and resident memory from the start of a tree to its first response. */
export const timeStart = (folder, path, tree = root) =>
  timeUntilResponse(() => startEider(folder, tree, START_ENV), path);

/** The same for `eider dev` with a data file. */
export const timeDev = (file, path) =>
  timeUntilResponse(() => start([join(root, "bin/eider.cjs"), "dev", "--port", "0", file], { env: START_ENV }), path);

/** The same for Node.js with DuckDB and one statement. */
export const timeBareStart = () =>
  timeUntilResponse(() => start([join(root, "bench/peers/bare-start.mjs")], { env: START_ENV }), "/");

async function timeUntilResponse(startProcess, path) {
  const began = performance.now();
  const { url, pid, stop } = await startProcess();
  const answer = await fetch(url + path);
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
  const ms = performance.now() - began;
  const cpu = preciseCpuOf(pid);
  const resident = memoryOf(pid).now;
  await stop();
  return { ms, cpu, resident };
}

/** CPU time of all threads that still run, in ms. Those of a start all do. */
function preciseCpuOf(pid) {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return (
    sum(tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]))) / 1e6
  );
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
