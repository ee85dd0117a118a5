// Repeated requests: pages with their total, one look-up by many clients at once, a response that never changes.
//   npm run build && node bench/hot.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up. The last comparison uses `wrk` if it is installed.
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { printTable } from "./compare.mjs";
import { folderOf, load, median, root, start, startEider, tableSql } from "./load.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const WRK = "wrk";
const hasWrk = spawnSync(WRK, ["-v"]).error === undefined;
/** Selects 21 % of the rows, from all parts of the table. */
const FILTERED = "SELECT * FROM t WHERE day < DATE '2020-11-11'";

if (process.argv[2] === "express") await plainExpress();
else if (process.argv[2] === "node") await bareNode(JSON.parse(process.argv[3]));
else await compare();

/** What an average team writes: it queries the page and its total each time. */
async function plainExpress() {
  const { default: express } = await import("express");
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(tableSql);
  const app = express();
  app.get("/pages", async (request, response) => {
    const offset = Number(request.query.offset ?? 0);
    const page = await connection.runAndReadAll(`${FILTERED} LIMIT 100 OFFSET $1`, [offset]);
    const total = await connection.runAndReadAll(`SELECT count(*) FROM (${FILTERED})`);
    response.json({ data: page.getRowObjectsJson(), total_count: Number(total.getRows()[0][0]) });
  });
  const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

/** A minimal Node server: these headers and a fixed body. */
async function bareNode({ headers, size }) {
  const { createServer } = await import("node:http");
  const body = Buffer.alloc(size, "x");
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}

async function compare() {
  const self = fileURLToPath(import.meta.url);
  const production = { env: { ...process.env, NODE_ENV: "production" }, cwd: root };
  const eider = await startEider(await projectFolder());
  const express = await start([self, "express"], production);
  const bare = await start([self, "node", JSON.stringify(await formOf(`${eider.url}/trivial`))], production);

  let page = 0;
  const results = [
    await contest({
      what: "page of 100 of 210,000 rows with its total, another page each time, 16 clients",
      first: { name: "Eider", server: eider, clients: 16, requests: 1000, path: () => `/pages?offset=${page++}` },
      second: { name: "express", server: express, clients: 16, requests: 150, path: () => `/pages?offset=${page++}` },
      goal: 12,
    }),
    await contest({
      what: "the same, 50 pages again and again",
      first: {
        name: "Eider",
        server: eider,
        clients: 16,
        requests: 4000,
        path: (n) => `/pages?offset=${(n % 50) * 100}`,
      },
      second: {
        name: "express",
        server: express,
        clients: 16,
        requests: 150,
        path: (n) => `/pages?offset=${(n % 50) * 100}`,
      },
      goal: 12,
    }),
    await contest({
      what: "look-up by key in an attached database, 32 clients",
      first: { name: "the same key", server: eider, clients: 32, requests: 8000, path: () => "/attached/7919" },
      second: {
        name: "32 different keys",
        server: eider,
        clients: 32,
        requests: 1500,
        path: (_n, client) => `/attached/${client * 7919}`,
      },
      goal: 8,
    }),
    await contest({
      what: `one row that never changes, 32 clients${hasWrk ? " (wrk)" : ""}`,
      first: { name: "Eider", server: eider, clients: 32, requests: 20_000, path: () => "/trivial", wrk: hasWrk },
      second: { name: "node:http", server: bare, clients: 32, requests: 20_000, path: () => "/trivial", wrk: hasWrk },
      goal: 0.75,
    }),
  ];
  console.log(`CPU of the server per request, median of ${ROUNDS} interleaved rounds`);
  printTable(results.flatMap(({ lines }) => lines));
  for (const { ratio } of results) console.log(ratio);
  process.exit();
}

/** Runs both alternately, and swaps their order each round, so that noise affects both equally. */
async function contest({ what, first, second, goal }) {
  const samples = new Map([first, second].map((side) => [side, []]));
  for (let round = -2; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? [first, second] : [second, first]) {
      const before = side.server.cpu();
      const { perSecond, answers } = side.wrk ? await runWrk(side) : await runLoad(side);
      const cpu = ((side.server.cpu() - before) * 1000) / answers;
      if (round >= 0) samples.get(side).push({ perSecond, cpu });
    }
  }
  const lines = [...samples].map(([{ name }, taken]) => ({
    what,
    side: name,
    "req/s": Math.round(median(taken.map((s) => s.perSecond))),
    "CPU us": Math.round(median(taken.map((s) => s.cpu))),
  }));
  const others = samples.get(second);
  const ratioOf = (pick) => median(samples.get(first).map((sample, round) => pick(sample, others[round]))).toFixed(2);
  const speed = ratioOf((a, b) => a.perSecond / b.perSecond);
  const cpu = ratioOf((a, b) => b.cpu / a.cpu);
  return {
    lines,
    ratio: `${what}: requests/s, ${first.name} / ${second.name}: ${speed} (goal: at least ${goal}); CPU: ${cpu}`,
  };
}

async function runLoad({ server, clients, requests, path }) {
  const { perSecond } = await load(server.url, { clients, requests, path });
  return { perSecond, answers: requests };
}

async function runWrk({ server, clients, path }) {
  const { stdout } = await promisify(execFile)(WRK, ["-t1", `-c${clients}`, "-d2s", server.url + path()]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]),
    answers: Number(/(\d+) requests in/.exec(stdout)[1]),
  };
}

/** The headers of a response, without those that Node sets itself, and the size of its body. */
async function formOf(address) {
  const answer = await fetch(address, { headers: { "Accept-Encoding": "identity" } });
  const body = await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(Buffer.from(body).toString());
  const own = new Set(["connection", "date", "keep-alive"]);
  return { headers: [...answer.headers].filter(([name]) => !own.has(name)).flat(), size: body.byteLength };
}

async function projectFolder() {
  const folder = folderOf({
    "eider.yaml": `connections:
  own:
    init: |
      ${tableSql.replaceAll("\n", "\n      ")};
      CREATE TABLE one AS SELECT 1 AS id, 'one' AS name
  other:
    type: duckdb
    path: ./other.duckdb
    read-only: true
`,
    "pages.yaml": "url-path: /pages\ntemplate-source: pages.sql\nconnection: [own]\n",
    "pages.sql": FILTERED,
    "attached.yaml": `url-path: /attached/:id
template-source: attached.sql
connection: [other]
request:
  - { field-name: id, field-in: path, required: true, validators: [{ type: int }] }
`,
    "attached.sql": "SELECT * FROM other.t WHERE id = {{params.id}}",
    "trivial.yaml": "url-path: /trivial\ntemplate-source: trivial.sql\nconnection: [own]\n",
    "trivial.sql": "SELECT * FROM one",
  });
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(join(folder, "other.duckdb"));
  const connection = await instance.connect();
  await connection.run(tableSql);
  connection.closeSync();
  instance.closeSync();
  return folder;
}
