// Many long responses in every format from one process. In a third of them, the client disconnects. Nothing may crash, hang, be
// incorrect, or leak.
//   npm run build && node bench/soak.mjs [requests=500] [rows=1000000]
// EIDER_SOAK_SEED (default 1) determines formats, readers and disconnects. Needs Node 20.15 (zlib.crc32) and Linux.
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromIPC } from "apache-arrow";
import { openClient } from "./client.mjs";
import { folderOf, memoryOf, startEider, tableSql } from "./load.mjs";

const REQUESTS = Number(process.argv[2] ?? 500);
const ROWS = Number(process.argv[3] ?? 1_000_000);
/** During the first requests, memory use still grows to its normal level. */
const WARM_UP = Math.min(REQUESTS, Math.max(12, Math.ceil(REQUESTS / 10)));
const CLIENTS = 4;
const SLOTS = 4;
const SEED = Number(process.env.EIDER_SOAK_SEED ?? 1);

const ARROW = "application/vnd.apache.arrow.stream";
/** Each kind has a check that returns what is wrong with a complete body. */
const kinds = {
  json: { path: "/t?format=json", check: (body) => counted(body, "{", ROWS) },
  csv: { path: "/t?format=csv", check: (body) => counted(body, "\r\n", ROWS + 1) },
  ndjson: { path: "/t?format=ndjson", check: (body) => counted(body, "\n", ROWS) },
  arrow: { path: "/t?format=arrow", check: checkArrow },
  lz4: { path: "/t", headers: { Accept: `${ARROW};codec=lz4` }, check: checkArrowEnd },
  zstd: { path: "/t", headers: { Accept: `${ARROW};codec=zstd` }, check: checkArrowEnd },
  parquet: { path: "/t?format=parquet", check: checkParquet },
  gzip: { path: "/t?format=json", headers: { "Accept-Encoding": "gzip" }, check: checkGzip },
};
/** The expected length and CRC-32 of every complete response. */
const expected = {};
/** The spool folder of the service. */
const spool = folderOf({});
const folder = folderOf({
  "eider.yaml": `duckdb:
  temp_directory: ${spool}
connections:
  t:
    init: |
      ${tableSql.replaceAll("\n", "\n      ")}
limits:
  query-timeout: 120s
  max-concurrent-queries: ${SLOTS}
`,
  "t.yaml": "url-path: /t\ntemplate-source: t.sql\nconnection: [t]\nwith-pagination: false\n",
  "t.sql": `SELECT * FROM t WHERE id < ${ROWS}`,
  "endless.yaml": `url-path: /endless
template-source: endless.sql
connection: [t]
with-pagination: false
request:
  - { field-name: n, field-in: query, required: true, validators: [{ type: int }] }
`,
  "endless.sql": "SELECT count(*) AS n FROM range(1000000000000) WHERE range % 7 = {{params.n}}",
});

const plans = planned();
const problems = [];
const began = performance.now();
const eider = await startEider(folder);
let crashed;
eider.ended.then((code) => {
  crashed = `the service ended with ${code}`;
});
await learn();
const counts = { whole: 0, left: 0, slow: 0 };
await work(WARM_UP);
const warm = await quiet();
say(`warm: ${warm.mib} MiB, ${warm.files} open files`);
await work(REQUESTS - WARM_UP);
const last = await quiet();
say(`end: ${last.mib} MiB, ${last.files} open files`);
await checkEnd();
console.log(
  `${REQUESTS} requests of ${ROWS} rows: ${counts.whole} whole, ${counts.left} left, ${counts.slow} read slowly`,
);
console.log(
  `memory: ${warm.mib} MiB after ${WARM_UP} requests, ${last.mib} MiB at the end (goal: at most ${allowed()} MiB)`,
);
if (problems.length > 0) console.log(["FAILED", ...problems].join("\n"));
else console.log("no crash, no hang, every whole answer right, nothing left behind");
process.exit(problems.length === 0 ? 0 : 1);

/** Checks one response of each kind in detail. All others must be identical to it. */
async function learn() {
  for (const [name, { path, headers, check }] of Object.entries(kinds)) {
    const client = openClient(eider.url);
    const pieces = [];
    const { status, head } = await client.get(path, { headers, onBody: (piece) => pieces.push(Buffer.from(piece)) });
    client.close();
    const body = Buffer.concat(pieces);
    const wrong = status === 200 ? await check(body) : `${head}${body.subarray(0, 500)}`;
    if (wrong !== undefined) {
      fail(`${name}: ${wrong}`);
      process.exit(1);
    }
    expected[name] = { bytes: body.length, crc: crc32(body) };
    say(`${name}: ${body.length} bytes`);
  }
}

/** Plans all requests before the first one, so that a seed always gives the same result. */
function planned() {
  const random = randomOf(SEED);
  const names = Object.keys(kinds);
  return Array.from({ length: REQUESTS }, () => ({
    name: names[Math.floor(random() * names.length)],
    leaves: random() < 1 / 3,
    slow: random() < 1 / 8,
    part: random(),
  }));
}

async function work(requests) {
  const end = plans.length - requests;
  const client = async () => {
    while (plans.length > end && crashed === undefined) {
      await ask(plans.pop());
      const done = counts.whole + counts.left;
      if (done % Math.max(10, Math.round(REQUESTS / 20)) === 0) say(`${done} requests, ${memoryNow()} MiB`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function ask({ name, leaves, slow, part }) {
  const { path, headers } = kinds[name];
  const { bytes, crc } = expected[name];
  const client = openClient(eider.url);
  // Most disconnect in the middle of the response. One in five does so before it starts, or as it starts.
  const leavesAt = part < 0.2 ? undefined : part * bytes;
  const timer = leaves && leavesAt === undefined ? setTimeout(client.close, part * 1250) : undefined;
  let seen = 0;
  let sum = 0;
  if (slow) counts.slow++;
  try {
    const answer = await client.get(path, {
      headers,
      perSecond: slow ? Math.max(5_000_000, bytes / 3) : undefined,
      onBody(piece) {
        seen += piece.length;
        sum = crc32(piece, sum);
        if (leaves && seen >= leavesAt) client.close();
      },
    });
    counts.whole++;
    if (answer.status !== 200) fail(`${name}: ${answer.head}`);
    else if (answer.bytes !== bytes) fail(`${name}: ${answer.bytes} bytes instead of ${bytes}`);
    else if (sum !== crc) fail(`${name}: ${bytes} bytes as it should be, but others`);
  } catch (error) {
    counts.left++;
    if (!leaves) fail(`${name}: after ${seen} of ${bytes} bytes: ${error.message}`);
  }
  clearTimeout(timer);
  client.close();
}

/** Waits until memory no longer falls and the CPU is idle. Returns memory and the number of open files. */
async function quiet() {
  let lowest = Number.POSITIVE_INFINITY;
  for (let calm = 0, tries = 0; calm < 4 && tries < 60 && crashed === undefined; tries++) {
    const before = orGone(eider.cpu);
    await sleep(250);
    const now = memoryNow();
    calm = now >= lowest && orGone(eider.cpu) - before <= 20 ? calm + 1 : 0;
    lowest = Math.min(lowest, now);
  }
  return { mib: memoryNow(), files: orGone(() => openFiles().length) };
}

async function checkEnd() {
  if (crashed !== undefined) return fail(crashed);
  if (last.mib > allowed()) fail(`memory grew from ${warm.mib} to ${last.mib} MiB`);
  if (last.files > warm.files + 2) fail(`${last.files} open files, ${warm.files} when it was warm`);
  // Spooled files are unlinked before they are sent.
  const spooled = openFiles().filter((target) => target.includes("eider-spool"));
  if (spooled.length > 0) fail(`open in the spool: ${spooled.join(", ")}`);
  const named = readdirSync(spool, { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  if (named.length > 0) fail(`files in the spool: ${named.map(({ name }) => name).join(", ")}`);
  await checkIdle();
  await eider.stop();
  const left = readdirSync(spool);
  if (left.length > 0) fail(`left after the end: ${left.join(", ")}`);
}

/** Checks that the service is healthy and every query slot is free, and that queries end when their clients disconnect. */
async function checkIdle() {
  const health = await fetch(`${eider.url}/health/ready`).then((answer) => answer.text());
  if (health !== '{"status":"ok"}') fail(`health: ${health}`);
  const endless = Array.from({ length: SLOTS - 1 }, (_, n) => {
    const client = openClient(eider.url);
    client.get(`/endless?n=${n}`).catch(() => {});
    return client;
  });
  await sleep(500);
  const short = openClient(eider.url);
  const timer = setTimeout(short.close, 20_000);
  const answer = await short.get("/t?limit=1").catch(() => undefined);
  clearTimeout(timer);
  for (const client of [...endless, short]) client.close();
  if (answer?.status !== 200) fail(`no slot is free beside ${SLOTS - 1} queries of ${SLOTS}`);
  await sleep(1000);
  const before = eider.cpu();
  await sleep(1000);
  const used = eider.cpu() - before;
  if (used > 100) fail(`${used} ms of CPU within a second, with nothing to do`);
}

function allowed() {
  return Math.round(Math.min(warm.mib + 100, warm.mib * 1.3));
}

function memoryNow() {
  return orGone(() => Math.round(memoryOf(eider.pid).now));
}

/** NaN if the process has just crashed, which is reported elsewhere. */
function orGone(read) {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}

/** The targets of the file descriptors of the service. */
function openFiles() {
  const descriptors = `/proc/${eider.pid}/fd`;
  return readdirSync(descriptors).flatMap((name) => {
    try {
      return [readlinkSync(join(descriptors, name))];
    } catch {
      return [];
    }
  });
}

function counted(body, text, wanted) {
  let count = 0;
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length)) count++;
  return count === wanted ? undefined : `${count} rows and headings instead of ${wanted}`;
}

function checkArrow(body) {
  const { numRows } = tableFromIPC(body);
  return numRows === ROWS ? checkArrowEnd(body) : `${numRows} rows instead of ${ROWS}`;
}

function checkArrowEnd(body) {
  return body.subarray(-8).toString("hex") === "ffffffff00000000" ? undefined : "it has no end-of-stream marker";
}

async function checkParquet(body) {
  const file = join(folder, "check.parquet");
  writeFileSync(file, body);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const result = await connection.runAndReadAll(`SELECT count(*), sum(id) FROM '${file}'`);
  connection.closeSync();
  const found = result.getRows()[0].map(Number).join(" rows, sum ");
  const wanted = `${ROWS} rows, sum ${(ROWS * (ROWS - 1)) / 2}`;
  return found === wanted ? undefined : `${found} instead of ${wanted}`;
}

/** A gzip file ends with the CRC-32 and the length of its content, which is the JSON. */
function checkGzip(body) {
  const { bytes, crc } = expected.json;
  return body.readUInt32LE(body.length - 8) === crc && body.readUInt32LE(body.length - 4) === bytes
    ? undefined
    : "what is inside is not the JSON";
}

/** mulberry32: the same numbers for the same seed. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function fail(text) {
  problems.push(text);
  say(`FAILED: ${text}`);
}

function say(text) {
  console.log(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`);
}
