// Compares whole responses, end to end, with other services for tables: FastAPI with Python's duckdb, ROAPI, plain express.
//   npm run build && node bench/peers.mjs
// EIDER_BENCH_PYTHON names a Python with fastapi, uvicorn, duckdb, pyarrow and roapi; without it, only express is compared.
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromIPC } from "apache-arrow";
import { loadLarge } from "./client.mjs";
import { printTable } from "./compare.mjs";
import { folderOf, median, root, start, startEider, startProgram, tableSql } from "./load.mjs";

const CLIENTS = 2;
const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const PYTHON = process.env.EIDER_BENCH_PYTHON;

/** Greater than every id in the table. */
const NOBODY = 1_000_000;

const newlines = (body) => body.reduce((count, byte) => count + (byte === 10 ? 1 : 0), 0);

/** `count` returns the number of rows in a body, of either service. Goals are minimum ratios in favour of Eider. */
const contests = [
  {
    what: "100,000 rows as Arrow",
    peer: "FastAPI",
    rows: 100_000,
    format: "arrow",
    count: (body) => tableFromIPC(body).numRows,
    requests: 20,
    goals: { speed: 1, cpu: 1 },
  },
  {
    what: "100,000 rows as CSV",
    peer: "ROAPI",
    rows: 100_000,
    format: "csv",
    accept: "application/csv",
    count: (body) => newlines(body) - 1,
    requests: 8,
    goals: { cpu: 2 },
  },
  {
    what: "10,000 rows as JSON",
    peer: "ROAPI",
    rows: 10_000,
    format: "json",
    accept: "application/json",
    count: (body) => JSON.parse(body).length,
    requests: 40,
    goals: { cpu: 2 },
  },
  {
    what: "10,000 rows as JSON",
    peer: "express",
    rows: 10_000,
    format: "json",
    count: (body) => JSON.parse(body).length,
    requests: 20,
    goals: { speed: 5 },
  },
];

if (process.argv[2] === "express") await plainExpress();
else await compare();

/** What an average team writes. */
async function plainExpress() {
  const { default: express } = await import("express");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(tableSql);
  const app = express();
  app.get("/t", async ({ query }, response) => {
    const result = await connection.runAndReadAll("SELECT * FROM t WHERE id < $1 AND id <> $2", [
      Number(query.rows),
      Number(query.other),
    ]);
    response.json(result.getRowObjectsJson());
  });
  const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

async function compare() {
  const eider = await startEider(projectFolder());
  const servers = { express: await startExpress() };
  if (PYTHON !== undefined) {
    servers.FastAPI = await startFastApi();
    servers.ROAPI = await startRoapi();
  }
  const lines = [];
  const ratios = [];
  for (const contest of contests) {
    if (servers[contest.peer] === undefined) {
      ratios.push(`${contest.what}: ${contest.peer} is left out, since EIDER_BENCH_PYTHON is not set`);
      continue;
    }
    const { own, other } = await compete(contest, eider, servers[contest.peer]);
    for (const [name, { bytes, samples }] of [
      ["Eider", own],
      [contest.peer, other],
    ]) {
      lines.push({
        what: contest.what,
        server: name,
        MB: (bytes / 1e6).toFixed(2),
        "req/s": median(samples.map((s) => s.perSecond)).toFixed(1),
        "CPU ms": median(samples.map((s) => s.cpu)).toFixed(1),
      });
    }
    const ratio = (pick) => median(own.samples.map((sample, round) => pick(sample, other.samples[round]))).toFixed(2);
    const goal = (figure) => (contest.goals[figure] ? ` (goal: at least ${contest.goals[figure]})` : "");
    ratios.push(
      `${contest.what}, requests/s, Eider / ${contest.peer}: ${ratio((a, b) => a.perSecond / b.perSecond)}${goal("speed")}`,
      `${contest.what}, CPU, ${contest.peer} / Eider: ${ratio((a, b) => b.cpu / a.cpu)}${goal("cpu")}`,
    );
  }
  console.log(
    `a table of 1,000,000 rows x 8 columns, ${CLIENTS} clients, CPU of the server per request, median of ${ROUNDS} interleaved rounds`,
  );
  printTable(lines);
  for (const line of ratios) console.log(line);
  process.exit();
}

/** Runs both alternately, and swaps their order each round, so that noise affects both equally. */
async function compete({ rows, count, format, accept, requests }, eider, peer) {
  const own = { server: eider, path: (other) => `/t?format=${format}&rows=${rows}&other=${other}`, samples: [] };
  const other = { server: peer, path: peer.path(rows), headers: accept && { Accept: accept }, samples: [] };
  for (const side of [own, other]) {
    const answer = await fetch(side.server.url + side.path(NOBODY), { headers: side.headers });
    const body = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 200 || count(body) !== rows)
      throw new Error(`${answer.status}, ${count(body)} rows instead of ${rows}: ${body.subarray(0, 500)}`);
    side.bytes = body.length;
  }
  let asked = NOBODY;
  for (let round = -2; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? [own, other] : [other, own]) {
      const { server, path, headers, bytes } = side;
      const before = server.cpu();
      const { perSecond } = await loadLarge(server.url, {
        clients: CLIENTS,
        requests,
        // With another key each time, so that no query is shared and no response is cached.
        path: () => path(++asked),
        headers,
        bytes,
      });
      if (round >= 0) side.samples.push({ perSecond, cpu: (server.cpu() - before) / requests });
    }
  }
  return { own, other };
}

function projectFolder() {
  return folderOf({
    "eider.yaml": `connections:\n  t:\n    init: |\n      ${tableSql.replaceAll("\n", "\n      ")}\n`,
    "t.yaml": `url-path: /t
template-source: t.sql
connection: [t]
with-pagination: false
request:
  - { field-name: rows, field-in: query, required: true, validators: [{ type: int }] }
  - { field-name: other, field-in: query, required: true, validators: [{ type: int }] }
`,
    "t.sql": "SELECT * FROM t WHERE id < {{params.rows}} AND id <> {{params.other}}",
  });
}

async function startExpress() {
  const server = await start([fileURLToPath(import.meta.url), "express"], {
    env: { ...process.env, NODE_ENV: "production" },
    cwd: root,
  });
  return { ...server, path: (rows) => (other) => `/t?rows=${rows}&other=${other}` };
}

async function startFastApi() {
  const server = await startProgram(PYTHON, [join(root, "bench/peers/fastapi_app.py")], {
    env: { ...process.env, TABLE_SQL: tableSql },
  });
  return { ...server, path: (rows) => (other) => `/t?rows=${rows}&other=${other}` };
}

/** ROAPI reads a file into memory. A limit without a filter is the cheapest request for it. */
async function startRoapi() {
  const file = join(folderOf({}), "t.parquet");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(tableSql);
  await connection.run(`COPY t TO '${file}' (FORMAT parquet)`);
  connection.closeSync();
  const anyPort = "127.0.0.1:0";
  const server = await startProgram(
    join(dirname(PYTHON), "roapi"),
    ["-a", anyPort, "-p", anyPort, "--addr-flight-sql", anyPort, "-t", `t=${file}`],
    // By default, it logs each request.
    { env: { ...process.env, RUST_LOG: "roapi::startup=info" } },
    /Listening on ([\d.]+:\d+) for HTTP/,
  );
  return { ...server, path: (rows) => () => `/api/tables/t?limit=${rows}` };
}
