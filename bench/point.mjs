// Uncached look-up by key: the service, a bare loop over the same statement, and a plain express service.
//   npm run build && node bench/point.mjs [threads of DuckDB in the service and the loop; default: one per core]
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { folderOf, load, median, root, start, startEider, tableSql } from "./load.mjs";

const QUERY = "SELECT * FROM t WHERE id = ";
const ROUNDS = 7;
const REQUESTS = 2000;
const CLIENTS = 32;
const THREADS = /^\d+$/.test(process.argv.at(-1)) ? process.argv.at(-1) : undefined;
const key = (n) => (n * 7919) % 1_000_000;

if (process.argv[2] === "loop") await bareLoop();
else if (process.argv[2] === "express") await plainExpress();
else await compare();

/** Only the statement: bind, execute, fetch the chunk. With as many connections as the service has query slots. */
async function bareLoop() {
  const { default: duckdb } = await import("@duckdb/node-bindings");
  const config = duckdb.create_config();
  if (THREADS) duckdb.set_config(config, "threads", THREADS);
  const database = await duckdb.open(":memory:", config);
  const setup = await duckdb.connect(database);
  await duckdb.query(setup, tableSql);
  const texts = { statement: `${QUERY}$1`, page: `SELECT * FROM (${QUERY}$1\n) q LIMIT $2 OFFSET $3` };
  const statements = {};
  for (const [name, sql] of Object.entries(texts)) {
    statements[name] = await Promise.all(
      Array.from({ length: 16 }, async () => duckdb.prepare(await duckdb.connect(database), sql)),
    );
  }
  process.on("message", async (name) => {
    let sent = 0;
    const before = process.cpuUsage();
    await Promise.all(
      statements[name].map(async (statement) => {
        while (sent < REQUESTS) {
          duckdb.bind_int64(statement, 1, BigInt(key(sent++)));
          if (name === "page") {
            duckdb.bind_int64(statement, 2, 100n);
            duckdb.bind_int64(statement, 3, 0n);
          }
          duckdb.result_get_chunk(await duckdb.execute_prepared(statement), 0);
        }
      }),
    );
    const { user, system } = process.cpuUsage(before);
    process.send({ cpu: (user + system) / REQUESTS });
  });
  process.send("ready");
}

/** What an average team writes. */
async function plainExpress() {
  const { default: express } = await import("express");
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(tableSql);
  const app = express();
  app.get("/t/:id", async (request, response) => {
    const result = await connection.runAndReadAll(`${QUERY}$1`, [Number(request.params.id)]);
    response.json({ data: result.getRowObjectsJson() });
  });
  const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

async function compare() {
  const folder = folderOf({
    "eider.yaml": `${THREADS ? `duckdb:\n  threads: ${THREADS}\n` : ""}connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
    "t.yaml":
      "url-path: /t/:id\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }\n",
    "t.sql": `${QUERY}{{params.id}}`,
  });
  const self = fileURLToPath(import.meta.url);
  const loop = fork(self, ["loop", ...(THREADS ? [THREADS] : [])], {
    execArgv: [],
    env: { ...process.env, UV_THREADPOOL_SIZE: "40" },
  });
  process.on("exit", () => loop.kill("SIGKILL"));
  await new Promise((resolve) => loop.once("message", resolve));
  const runLoop = (name) =>
    new Promise((resolve) => {
      loop.once("message", ({ cpu }) => resolve(cpu));
      loop.send(name);
    });
  const eider = await startEider(folder);
  const express = await start([self, "express"], { env: { ...process.env, NODE_ENV: "production" }, cwd: root });
  // A key that no other round uses, because the response cache would serve repeated requests.
  let asked = 0;
  const path = () => `/t/${key(asked++)}`;
  const ask = async (server) => {
    const before = server.cpu();
    const { perSecond } = await load(server.url, { clients: CLIENTS, requests: REQUESTS, path });
    return { perSecond, cpu: ((server.cpu() - before) * 1000) / REQUESTS };
  };
  const rounds = [];
  for (let round = -2; round < ROUNDS; round++) {
    const result = {
      eider: await ask(eider),
      statement: await runLoop("statement"),
      page: await runLoop("page"),
      express: await ask(express),
    };
    if (round >= 0) rounds.push(result);
  }
  const of = (pick) => median(rounds.map(pick));
  console.log(
    `point look-up, 1,000,000 rows x 8 columns, ${CLIENTS} clients, ${THREADS ?? "all"} threads, median of ${ROUNDS} interleaved rounds of ${REQUESTS}`,
  );
  console.table({
    eider: { "CPU us": of((r) => r.eider.cpu) | 0, "req/s": of((r) => r.eider.perSecond) | 0 },
    "bare loop, the author's statement": { "CPU us": of((r) => r.statement) | 0 },
    "bare loop, the same as a page": { "CPU us": of((r) => r.page) | 0 },
    "plain express": { "CPU us": of((r) => r.express.cpu) | 0, "req/s": of((r) => r.express.perSecond) | 0 },
  });
  const ratio = (pick) => of(pick).toFixed(2);
  console.log(
    `CPU, eider / bare loop of the statement it runs: ${ratio((r) => r.eider.cpu / r.page)} (goal: at most 1.30)`,
  );
  console.log(`CPU, eider / bare loop of the author's statement: ${ratio((r) => r.eider.cpu / r.statement)}`);
  console.log(
    `requests/s, eider / plain express: ${ratio((r) => r.eider.perSecond / r.express.perSecond)} (goal: at least 1.70)`,
  );
  process.exit();
}
