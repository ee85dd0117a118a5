// Look-up by key, a different key each time: Eider, the leanest loop with the same native calls, and Fastify by hand.
//   npm run build && node bench/point.mjs [threads of DuckDB; default: one per core]
// EIDER_BENCH_ROUNDS (default 9) sets the rounds after warm-up.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { folderOf, load, median, root, start, startEider, tableSql } from "./load.mjs";

const THREADS = process.argv[2];
const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 9);
const REQUESTS = 1500;

const files = {
  "eider.yaml": `${THREADS ? `duckdb: { threads: ${THREADS} }\n` : ""}connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
  "t.yaml":
    "url-path: /t/:id\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n",
  "t.sql": "SELECT * FROM t WHERE id = {{params.id}}",
};
const peer = (name) =>
  start([join(root, "bench/peers", `${name}.mjs`), ...(THREADS ? [THREADS] : [])], {
    env: { ...process.env, NODE_ENV: "production", UV_THREADPOOL_SIZE: "40" },
  });
const servers = { eider: await startEider(folderOf(files)), lean: await peer("lean"), fastify: await peer("fastify") };

/** CPU time of the main thread, in microseconds. */
const mainThread = ({ pid }) => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000;
const key = (n) => (n * 7919) % 1_000_000;
let asked = 0;

async function ask(server, clients) {
  const [cpu, main] = [server.cpu(), mainThread(server)];
  const { perSecond } = await load(server.url, { clients, requests: REQUESTS, path: () => `/t/${key(asked++)}` });
  return { perSecond, cpu: ((server.cpu() - cpu) * 1000) / REQUESTS, main: (mainThread(server) - main) / REQUESTS };
}

const answers = await Promise.all(Object.values(servers).map(async ({ url }) => (await fetch(`${url}/t/7919`)).text()));
console.log(answers.join("\n"));

for (const clients of [1, 32]) {
  const rounds = [];
  for (let round = -2; round < ROUNDS; round++) {
    const measured = {};
    // The order changes: the first one runs on a colder machine.
    const names = round % 2 === 0 ? Object.keys(servers) : Object.keys(servers).reverse();
    for (const name of names) measured[name] = await ask(servers[name], clients);
    if (round >= 0) rounds.push(measured);
  }
  const of = (pick) => median(rounds.map(pick));
  console.log(`${clients} clients, ${THREADS ?? "all"} threads, median of ${ROUNDS} interleaved rounds of ${REQUESTS}`);
  console.table(
    Object.fromEntries(
      Object.keys(servers).map((name) => [
        name,
        {
          "requests/s": Math.round(of((round) => round[name].perSecond)),
          "CPU us": Math.round(of((round) => round[name].cpu)),
          "main thread us": Math.round(of((round) => round[name].main)),
        },
      ]),
    ),
  );
  const ratio = (label, pick) => console.log(`${label}: ${of(pick).toFixed(2)}`);
  ratio("CPU, eider / lean", ({ eider, lean }) => eider.cpu / lean.cpu);
  ratio("main thread, eider / lean", ({ eider, lean }) => eider.main / lean.main);
  ratio("requests/s, eider / fastify", ({ eider, fastify }) => eider.perSecond / fastify.perSecond);
}
process.exit();
