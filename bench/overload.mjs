// Ten times more requests than the service can process: accepted requests get a quick response, the others a quick rejection,
// /health responds all the time, and afterwards the service is as fast as before.
//   npm run build && node bench/overload.mjs
// EIDER_BENCH_SECONDS (default 30) sets how long the overload lasts, EIDER_BENCH_TIMES (default 10) the load as a multiple of the
// capacity. Separate processes send requests at a fixed rate, without waiting for responses.
import { printTable } from "./compare.mjs";
import { folderOf, median, startEider, tableSql } from "./load.mjs";
import { enlist } from "./load-worker.mjs";

const SECONDS = Number(process.env.EIDER_BENCH_SECONDS ?? 30);
const TIMES = Number(process.env.EIDER_BENCH_TIMES ?? 10);
const WORKERS = 2;
const CLIENTS = 32;
const HEALTH_EVERY_MS = 20;

await measure();

async function measure() {
  const eider = await startEider(projectFolder());
  const { port } = new URL(eider.url);
  const crew = await Promise.all(Array.from({ length: WORKERS }, () => enlist(port)));
  const probe = await enlist(port);
  const together = async (task) => merge(await Promise.all(crew.map((worker) => worker.run(task))));

  await together({ kind: "closed", path: "/work", clients: CLIENTS / WORKERS, ms: 2_000 });
  const speeds = [];
  for (let round = 0; round < 5; round++) {
    const { answers, ms } = await together({ kind: "closed", path: "/work", clients: CLIENTS / WORKERS, ms: 1_500 });
    speeds.push((answers.length * 1000) / ms);
  }
  const capacity = median(speeds);

  const open = (times, seconds) =>
    together({ kind: "open", path: "/work", perSecond: (capacity * times) / WORKERS, ms: seconds * 1000 });
  const health = (ms) => probe.run({ kind: "open", path: "/health", perSecond: 1000 / HEALTH_EVERY_MS, ms });
  const calm = await open(1, Math.max(5, SECONDS / 3));
  const [healthy, flood] = await Promise.all([health(SECONDS * 1000), open(TIMES, SECONDS)]);
  const after = await together({ kind: "closed", path: "/work", clients: CLIENTS / WORKERS, ms: 3_000 });
  const light = await open(0.5, 3);

  report({ capacity, calm, flood, healthy, after, light });
  await eider.stop();
  process.exit();
}

function report({ capacity, calm, flood, healthy, after, light }) {
  const line = (load, { answers, ms }) => {
    const times = (status) => answers.filter((answer) => answer.status === status).map((answer) => answer.ms);
    const [accepted, refused] = [times(200), times(503)];
    return {
      load,
      asked: Math.round((answers.length * 1000) / ms),
      "accepted/s": Math.round((accepted.length * 1000) / ms),
      "refused/s": Math.round((refused.length * 1000) / ms),
      "accepted p50 ms": at(accepted, 0.5),
      "accepted p99 ms": at(accepted, 0.99),
      "refused p50 ms": at(refused, 0.5),
      "refused p99 ms": at(refused, 0.99),
    };
  };
  console.log(`capacity: ${capacity.toFixed(0)} requests/s with ${CLIENTS} clients, each of one query`);
  printTable([line("half", light), line("1 x capacity", calm), line(`${TIMES} x capacity`, flood)]);

  const others = flood.answers.filter(({ status }) => status !== 200 && status !== 503);
  const bare = flood.answers.filter(({ status, retryAfter }) => status === 503 && !retryAfter);
  const slowHealth = healthy.answers.map(({ ms }) => ms);
  const p99 = (load) => Number(at(ofStatus(load, 200), 0.99));
  const isFast = windowsOf(after, 250).findIndex((count) => count * 4 >= capacity * 0.8);
  const goals = [
    ["/health, slowest, ms", at(slowHealth, 1), 50],
    ["/health, p99, ms", at(slowHealth, 0.99), 50],
    ["refused, p99, ms", at(ofStatus(flood, 503), 0.99), 20],
    [`p99 of accepted, ${TIMES} x capacity / 1 x capacity`, (p99(flood) / p99(calm)).toFixed(2), 3],
    ["accepted at full load / capacity, less than 1 by", lossOf(flood, capacity), 0.3],
    ["ms until full speed afterwards", isFast < 0 ? "never" : (isFast + 1) * 250, 1000],
    ["answers that are neither 200 nor 503", others.length, 0],
    ["refusals without Retry-After", bare.length, 0],
    ["/health that is not 200", healthy.answers.filter(({ status }) => status !== 200).length, 0],
  ];
  printTable(goals.map(([what, value, most]) => ({ what, measured: value, "at most": most, met: value <= most })));
}

function lossOf(flood, capacity) {
  return (1 - (ofStatus(flood, 200).length * 1000) / flood.ms / capacity).toFixed(2);
}

function ofStatus({ answers }, status) {
  return answers.filter((answer) => answer.status === status).map(({ ms }) => ms);
}

function windowsOf({ answers }, ms) {
  const counts = [];
  for (const { end } of answers) counts[Math.floor(end / ms)] = (counts[Math.floor(end / ms)] ?? 0) + 1;
  return Array.from(counts, (count) => count ?? 0);
}

function at(values, share) {
  if (values.length === 0) return "-";
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
}

function merge(parts) {
  return { answers: parts.flatMap(({ answers }) => answers), ms: parts[0].ms };
}

function projectFolder() {
  return folderOf({
    "eider.yaml": `http-port: 0\nlog: { level: silent }\nconnections:\n  memory:\n    init: "${tableSql.replaceAll("\n", " ")}"\n`,
    "work.yaml":
      "url-path: /work\ntemplate-source: work.sql\nconnection: memory\nwith-pagination: false\nrequest:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n",
    // With another number each time, so that no two requests share a query.
    "work.sql":
      "SELECT sum(amount)::DOUBLE AS s, max(ratio) AS r, count(*) AS n FROM t WHERE (id + {{params.n}}) % 7 < 4",
  });
}
