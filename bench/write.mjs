// Single-row inserts, into a file database with its log: the service compared with a plain express service that makes three calls
// (BEGIN, INSERT, COMMIT), and with a Fastify service whose INSERT commits by itself. All respond when the commit is on disk.
//   npm run build && node bench/write.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";
import { printTable } from "./compare.mjs";
import { folderOf, load, median, root, start, startEider } from "./load.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const TABLE = "CREATE TABLE IF NOT EXISTS t (id BIGINT, name VARCHAR, price DECIMAL(10, 2), day DATE)";
/** The number of clients, the requests per round, and the minimum ratio. */
const contests = [
  { clients: 1, requests: 600, peer: "express", goal: 2 },
  { clients: 16, requests: 2000, peer: "express", goal: 1.5 },
  { clients: 8, requests: 2000, peer: "Fastify", goal: 2.5 },
];

if (process.argv[2] === "express") await plainExpress(process.argv[3]);
else if (process.argv[2] === "Fastify") await plainFastify(process.argv[3]);
else await compare();

/** What an average team writes. Each request has its own connection while its transaction is open. */
async function plainExpress(file) {
  const { default: express } = await import("express");
  const instance = await DuckDBInstance.create(file);
  await (await instance.connect()).run(TABLE);
  const free = [];
  const app = express();
  app.use(express.json());
  app.post("/t", async (request, response) => {
    const { id, name, price, day } = request.body;
    const connection = free.pop() ?? (await instance.connect());
    try {
      await connection.run("BEGIN");
      const result = await connection.run("INSERT INTO t VALUES ($1, $2, $3, $4)", [id, name, price, day]);
      await connection.run("COMMIT");
      response.json({ rows_affected: result.rowsChanged });
    } catch (error) {
      await connection.run("ROLLBACK");
      response.status(500).json({ error: String(error) });
    }
    free.push(connection);
  });
  const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

/** What a careful team writes: as many connections as `bench/peers/fastify.mjs`. */
async function plainFastify(file) {
  const { default: fastify } = await import("fastify");
  const instance = await DuckDBInstance.create(file);
  await (await instance.connect()).run(TABLE);
  const connections = await Promise.all(Array.from({ length: availableParallelism() * 2 }, () => instance.connect()));
  let turn = 0;
  const app = fastify();
  app.post("/t", async (request) => {
    const { id, name, price, day } = request.body;
    const connection = connections[turn++ % connections.length];
    const result = await connection.run("INSERT INTO t VALUES ($1, $2, $3, $4)", [id, name, price, day]);
    return { rows_affected: result.rowsChanged };
  });
  console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
}

function projectFolder() {
  const field = (name, type) =>
    `  - { field-name: ${name}, field-in: body, required: true, validators: [{ type: ${type} }] }\n`;
  return folderOf({
    "eider.yaml": `duckdb: { db_path: ./data.duckdb }\nconnections: { t: { init: "${TABLE}" } }\n`,
    "t.yaml": `url-path: /t\nmethod: POST\ntemplate-source: t.sql\nconnection: [t]\nrequest:\n${field("id", "int")}${field("name", "string")}${field("price", "number")}${field("day", "date")}`,
    "t.sql": "INSERT INTO t VALUES ({{params.id}}, '{{{params.name}}}', {{params.price}}, {{params.day}})",
  });
}

async function compare() {
  const folder = projectFolder();
  const eider = { name: "Eider", server: await startEider(folder), file: join(folder, "data.duckdb"), written: 0 };
  const startPeer = async (name) => {
    const file = join(folderOf({}), "data.duckdb");
    const env = { ...process.env, NODE_ENV: "production" };
    const server = await start([fileURLToPath(import.meta.url), name, file], { env, cwd: root });
    return { name, server, file, written: 0 };
  };
  const peers = [await startPeer("express"), await startPeer("Fastify")];
  const path = () => "/t";
  const body = (at) => JSON.stringify({ id: at, name: `customer ${at}`, price: 29.99, day: "2024-02-29" });
  const lines = [];
  const ratios = [];
  for (const { clients, requests, peer, goal } of contests) {
    const sides = [eider, peers.find(({ name }) => name === peer)];
    const samples = sides.map(() => []);
    for (let round = -2; round < ROUNDS; round++) {
      // Swaps the order each round, so that noise affects both equally.
      for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const { server } = sides[index];
        const before = server.cpu();
        const { perSecond } = await load(server.url, { clients, requests, path, body });
        if (round >= 0) samples[index].push({ perSecond, cpu: ((server.cpu() - before) * 1000) / requests });
        sides[index].written += requests;
      }
    }
    for (const [index, { name }] of sides.entries()) {
      const of = (pick) => median(samples[index].map(pick)) | 0;
      lines.push({ clients, server: name, "req/s": of((s) => s.perSecond), "CPU us": of((s) => s.cpu) });
    }
    const ratio = (pick) => median(samples[0].map((sample, round) => pick(sample, samples[1][round]))).toFixed(2);
    ratios.push(
      `${clients} client${clients === 1 ? "" : "s"}, requests/s, Eider / ${peer}: ${ratio((a, b) => a.perSecond / b.perSecond)} (goal: at least ${goal})`,
      `${clients} client${clients === 1 ? "" : "s"}, CPU, ${peer} / Eider: ${ratio((a, b) => b.cpu / a.cpu)}`,
    );
  }
  for (const { server, name, file, written } of [eider, ...peers]) {
    await server.stop();
    await countRows(name, file, written);
  }
  console.log(
    `inserts of one row, file database, median of ${ROUNDS} interleaved rounds; an fsync here takes ${syncTime(folder)} us`,
  );
  printTable(lines);
  for (const line of ratios) console.log(line);
  process.exit();
}

/** Checks that a service has written all rows that it acknowledged. */
async function countRows(name, file, expected) {
  const connection = await (await DuckDBInstance.create(file)).connect();
  const [[rows]] = (await connection.runAndReadAll("SELECT count(*)::INTEGER FROM t")).getRows();
  connection.closeSync();
  if (rows !== expected) throw new Error(`${name} has ${rows} rows instead of ${expected}`);
}

/** The minimum time of a durable commit. */
function syncTime(folder) {
  const file = openSync(join(folder, "sync"), "w");
  const times = Array.from({ length: 200 }, () => {
    const from = performance.now();
    writeSync(file, "x".repeat(200));
    fsyncSync(file);
    return performance.now() - from;
  });
  closeSync(file);
  return (median(times) * 1000) | 0;
}
