// Cached responses: a hot one compared with a minimal Node server, an aggregate compared with the same without a cache, reads
// during a refresh, and the cost of unused caches.
//   npm run build && node bench/cache.mjs
// EIDER_BENCH_ROUNDS (default 7) sets the rounds after warm-up. The first comparison uses `wrk` if it is installed.
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { folderOf, load, median, memoryOf, root, start, startEider } from "./load.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 7);
const WRK = "wrk";
const hasWrk = spawnSync(WRK, ["-v"]).error === undefined;
const AGGREGATE =
  "SELECT region, count(*) AS n, sum(price) AS total, avg(price) AS mean FROM read_parquet('FILE') GROUP BY region ORDER BY region";
const endpoint = (path, file, more = "") =>
  `url-path: ${path}\ntemplate-source: ${file}\nconnection: [db]\nwith-pagination: false\n${more}`;

if (process.argv[2] === "node") await bareNode(JSON.parse(process.argv[3]));
else await compare();

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

async function projectFolder() {
  const folder = folderOf({
    "eider.yaml": "connections: { db: {} }\n",
    "hot.yaml": endpoint("/hot", "hot.sql", "cache: { table: hot, template-file: hot-refresh.sql, schedule: 10m }\n"),
    "hot.sql": "SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}",
    "hot-refresh.sql": "SELECT 1 AS id, 'one' AS name",
    "plain.yaml": endpoint("/plain", "plain.sql"),
    "cached.yaml": endpoint("/cached", "plain.sql", "cache: { table: aggregate }\n"),
    "rows.yaml": endpoint(
      "/rows/:id",
      "rows.sql",
      "cache: { table: rows, template-file: rows-refresh.sql }\nrequest: [{ field-name: id, field-in: path, validators: [{ type: int }] }]\n",
    ),
    "rows.sql": "SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}} WHERE id = {{params.id}}",
    "touch.yaml": `url-path: /touch\nmethod: POST\ntemplate-source: touch.sql\nconnection: [db]\ncache: { table: rows, refresh-on-write: true }\n`,
    "touch.sql": "SELECT 1",
  });
  const file = join(folder, "data.parquet");
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(
    `COPY (SELECT range AS id, 'region ' || (range % 20) AS region, (range % 10000)::DECIMAL(10, 2) AS price, 'customer ' || range AS name FROM range(1000000)) TO '${file}'`,
  );
  connection.closeSync();
  const { writeFileSync } = await import("node:fs");
  writeFileSync(join(folder, "plain.sql"), AGGREGATE.replace("FILE", file));
  writeFileSync(join(folder, "rows-refresh.sql"), `SELECT * FROM read_parquet('${file}')`);
  return folder;
}

async function perSecond(server, path, { clients, requests }, wrk = false) {
  if (!wrk) return (await load(server.url, { clients, requests, path: (n) => path(n) })).perSecond;
  const { stdout } = await promisify(execFile)(WRK, ["-t1", `-c${clients}`, "-d2s", server.url + path(0)]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}

/** Runs both alternately, and swaps their order each round, so that noise affects both equally. */
async function contest(what, goal, first, second) {
  const samples = [[], []];
  for (let round = -1; round < ROUNDS; round++) {
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const value = await [first, second][index]();
      if (round >= 0) samples[index].push(value);
    }
  }
  const ratio = median(samples[0].map((value, round) => value / samples[1][round])).toFixed(2);
  const [a, b] = samples.map((values) => Math.round(median(values)));
  console.log(`${what}: ${a} against ${b} requests/s, ratio ${ratio} (goal: at least ${goal})`);
}

async function compare() {
  const eider = await startEider(await projectFolder());
  const answer = await fetch(`${eider.url}/hot`, { headers: { "Accept-Encoding": "identity" } });
  const size = (await answer.arrayBuffer()).byteLength;
  const own = new Set(["connection", "date", "keep-alive"]);
  const headers = [...answer.headers].filter(([name]) => !own.has(name)).flat();
  const bare = await start([fileURLToPath(import.meta.url), "node", JSON.stringify({ headers, size })], { cwd: root });

  const hot = { clients: 32, requests: 20_000 };
  await contest(
    `a hot answer against bare node:http${hasWrk ? " (wrk)" : ""}`,
    0.75,
    () => perSecond(eider, () => "/hot", hot, hasWrk),
    () => perSecond(bare, () => "/hot", hot, hasWrk),
  );
  await contest(
    "an aggregate over a million rows of Parquet, cached against not",
    20,
    () => perSecond(eider, () => "/cached", { clients: 4, requests: 4000 }),
    () => perSecond(eider, () => "/plain", { clients: 4, requests: 40 }),
  );
  const look = { clients: 4, requests: 600 };
  let id = 0;
  await perSecond(eider, () => "/rows/1", { clients: 1, requests: 1 });
  const reads = () => perSecond(eider, () => `/rows/${id++ % 1_000_000}`, look);
  await contest(
    "look-ups during refreshes of a million rows against look-ups without",
    0.6,
    async () => {
      let stop = false;
      const refreshing = (async () => {
        let count = 0;
        for (; !stop; count++) await fetch(`${eider.url}/touch`, { method: "POST" });
        return count;
      })();
      const value = await reads();
      stop = true;
      if ((await refreshing) === 0) throw new Error("nothing was refreshed");
      return value;
    },
    reads,
  );
  await eider.stop();
  await bare.stop();

  const many = (caches) =>
    folderOf({
      "eider.yaml": "connections: { db: {} }\n",
      "r.sql": "SELECT 1 AS n",
      "x.sql": "SELECT * FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}}",
      ...Object.fromEntries(
        Array.from({ length: 1000 }, (_, n) => [
          `e${n}.yaml`,
          endpoint(
            `/e${n}`,
            caches ? "x.sql" : "r.sql",
            caches ? `cache: { table: t${n}, template-file: r.sql, schedule: 1h }\n` : "",
          ),
        ]),
      ),
    });
  const used = [];
  for (const caches of [false, true]) {
    const server = await startEider(many(caches));
    const idle = memoryOf(server.pid).now;
    await perSecond(server, (n) => `/e${n}`, { clients: 4, requests: 1000 });
    used.push({ idle, filled: memoryOf(server.pid).now });
    await server.stop();
  }
  const more = (when) => Math.round(used[1][when] - used[0][when]);
  console.log(
    `1,000 caches take ${more("idle")} MiB more than 1,000 endpoints without, ${more("filled")} MiB once each is filled and read (goal: at most 50)`,
  );
  process.exit();
}
