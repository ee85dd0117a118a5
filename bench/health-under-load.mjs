// /health while long queries, of about one second on all cores, arrive at ten times the capacity.
//   npm run build && node bench/health-under-load.mjs
// Pass paths of other builds to measure them in the same run, in turns: node bench/health-under-load.mjs ../other-tree
// EIDER_BENCH_HEALTH (default 1500) sets the number of /health requests per round, EIDER_BENCH_ROUNDS (default 1) the rounds,
// EIDER_BENCH_TIMES (default 10) the load as a multiple of the capacity, EIDER_BENCH_ENDPOINTS (default 1) over how many
// endpoints the load is spread, EIDER_BENCH_YAML more lines for the configuration file. At most CLIENTS queries are in flight.
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { printTable } from "./compare.mjs";
import { folderOf, median, root, startEider } from "./load.mjs";
import { enlist } from "./load-worker.mjs";

const HEALTH = Number(process.env.EIDER_BENCH_HEALTH ?? 1_500);
const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 1);
const TIMES = Number(process.env.EIDER_BENCH_TIMES ?? 10);
const ENDPOINTS = Number(process.env.EIDER_BENCH_ENDPOINTS ?? 1);
const CLIENTS = 200;
const HEALTH_EVERY_MS = 20;
const QUERY_MS = 1_000;
const GOAL_MS = 50;
const FIRST_ROWS = 20_000_000;

const rows = await rowsOfLongQuery();
const folder = projectFolder(rows);
const trees = [root, ...process.argv.slice(2).map((path) => resolve(path))];
const lines = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const tree of round % 2 === 0 ? trees : trees.toReversed()) lines.push({ round, ...(await measure(tree)) });
}
printTable(lines);
for (const tree of trees) {
  const own = lines.filter(({ build }) => build === nameOf(tree));
  const slowest = own.map(({ slowest }) => slowest);
  console.log(
    `${nameOf(tree)}: slowest of ${HEALTH} /health: ${Math.max(...slowest)} ms (median of rounds ${median(slowest)}), at most ${GOAL_MS}`,
  );
}
process.exit();

/** As many rows as DuckDB aggregates in about QUERY_MS on this machine, now. */
async function rowsOfLongQuery() {
  const eider = await startEider(projectFolder(FIRST_ROWS));
  const times = [];
  for (let run = 0; run < 3; run++) times.push(await timeOf(`${eider.url}/long0?n=${run}`));
  await eider.stop();
  return Math.round((FIRST_ROWS * QUERY_MS) / median(times));
}

async function timeOf(address) {
  const began = performance.now();
  const answer = await fetch(address);
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
  return performance.now() - began;
}

async function measure(tree) {
  const eider = await startEider(folder, tree);
  const { port } = new URL(eider.url);
  const queryMs = await timeOf(`${eider.url}/long0?n=1`);
  const ms = HEALTH * HEALTH_EVERY_MS;
  const crew = await Promise.all(Array.from({ length: ENDPOINTS }, () => enlist(port)));
  const probe = await enlist(port);
  const calm = await probe.run({ kind: "open", path: "/health", perSecond: 1000 / HEALTH_EVERY_MS, ms: 2_000 });
  const perSecond = (TIMES * 1000) / queryMs / ENDPOINTS;
  const flood = crew.map((worker, number) =>
    worker.run({ kind: "open", path: `/long${number}`, perSecond, ms: ms + 1_000, most: CLIENTS / ENDPOINTS }),
  );
  // By then, all slots are taken.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const before = eider.cpu();
  const waitedBefore = waitedForCore(eider.pid);
  const began = performance.now();
  const healthy = await probe.run({ kind: "open", path: "/health", perSecond: 1000 / HEALTH_EVERY_MS, ms });
  const cores = (eider.cpu() - before) / (performance.now() - began);
  const waited = (waitedForCore(eider.pid) - waitedBefore) / (performance.now() - began);
  eider.kill();
  const answers = (await Promise.all(flood)).flatMap((part) => part.answers);
  const times = healthy.answers.map((answer) => answer.ms).toSorted((a, b) => a - b);
  for (const { child } of [...crew, probe]) child.kill();
  const count = (status) => answers.filter((answer) => answer.status === status).length;
  return {
    build: nameOf(tree),
    "query ms": Math.round(queryMs),
    "calm p99": at(
      calm.answers.map((answer) => answer.ms).toSorted((a, b) => a - b),
      0.99,
    ),
    p50: at(times, 0.5),
    p99: at(times, 0.99),
    slowest: at(times, 1),
    "not 200": healthy.answers.filter(({ status }) => status !== 200).length,
    accepted: count(200),
    refused: count(503),
    "timed out": count(504),
    "cores used": cores.toFixed(2),
    "main thread waits": `${Math.round(waited * 100)} %`,
  };
}

/** How long the main thread was ready to run but had no core, in ms: what is slow beyond that is slow in Eider itself. */
function waitedForCore(pid) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}

function at(sorted, share) {
  return Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1));
}

function nameOf(tree) {
  return basename(resolve(tree));
}

function projectFolder(rowCount) {
  const files = {
    "eider.yaml": `http-port: 0\nlog: { level: silent }\nconnections: { memory: {} }\n${process.env.EIDER_BENCH_YAML ?? ""}\n`,
  };
  for (let number = 0; number < ENDPOINTS; number++) {
    files[`long${number}.yaml`] =
      `url-path: /long${number}\ntemplate-source: long${number}.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n`;
    // With another number each time, so that no two requests share a query.
    files[`long${number}.sql`] =
      `SELECT sum(hash(range + {{params.n}}) % 1000) AS s, max(sqrt(range)) AS m FROM range(${rowCount})`;
  }
  return folderOf(files);
}
