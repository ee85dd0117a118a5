// Postgres: Eider with `engine: postgres`, Eider with an attached database, the same with the defaults of DuckDB's extension, and
// node-postgres behind node:http. Look-ups by key, a different key each time; then 100,000 rows as JSON.
//   npm run build && EIDER_TEST_EXTENSIONS=<folder with postgres_scanner.duckdb_extension> node bench/postgres.mjs
// EIDER_BENCH_ROUNDS (default 5) sets the rounds after warm-up.
import { join } from "node:path";
import { extensionFolder, folderOf, load, median, root, runSql, startEider, startProgram } from "./load.mjs";
import { startPostgres, USER } from "./postgres-server.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 5);
const REQUESTS = 300;
const ROWS = 1_000_000;
const LONG_ROWS = 100_000;
const LONG_REQUESTS = 5;
const extensions = extensionFolder("postgres_scanner");

const postgres = await startPostgres();
await fill();

const DEFAULTS = "SET GLOBAL pg_pool_max_connections = 4; SET GLOBAL pg_pages_per_task = 1000; ";
const endpoints = (table) => ({
  "customer.yaml": `url-path: /customers/:id
template-source: customer.sql
connection: [crm]
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
  "customer.sql": `SELECT * FROM ${table} WHERE id = {{params.id}}`,
  "all.yaml": "url-path: /all\ntemplate-source: all.sql\nconnection: [crm]\nwith-pagination: false\n",
  "all.sql": `SELECT * FROM ${table} WHERE id < ${LONG_ROWS} ORDER BY id`,
});
const startWith = (settings) =>
  startEider(
    folderOf({
      "eider.yaml": `duckdb: { extension_directory: '${extensions}' }
connections:
  crm: { init: "LOAD postgres; ${settings}ATTACH '${postgres.dsn}' AS crm (TYPE postgres)" }
`,
      ...endpoints("crm.customers"),
    }),
  );
const services = {
  engine: await startEider(
    folderOf({
      "eider.yaml": `connections:
  crm: { engine: postgres, host: 127.0.0.1, port: ${postgres.port}, user: ${USER}, database: postgres, ssl: disable }
`,
      ...endpoints("customers"),
    }),
  ),
  eider: await startWith(""),
  defaults: await startWith(DEFAULTS),
  node: await startProgram(process.execPath, [
    join(root, "bench/peers/node-postgres.mjs"),
    String(postgres.port),
    USER,
  ]),
};

/** By default, DuckDB's extension reads a table of this size by several statements. */
async function fill() {
  await runSql(
    extensions,
    `LOAD postgres; ATTACH '${postgres.dsn}' AS crm (TYPE postgres);
CREATE TABLE crm.customers AS SELECT i::INTEGER AS id, 'customer number ' || i AS name, i * 1.25 AS balance FROM range(${ROWS}) r(i);
CALL postgres_execute('crm', 'ALTER TABLE customers ADD PRIMARY KEY (id)')`,
  );
}

let asked = 0;
const path = () => `/customers/${(asked++ * 7919) % ROWS}`;
for (const { url } of Object.values(services)) console.log(await (await fetch(`${url}/customers/7919`)).text());

for (const clients of [1, 32]) {
  const rounds = [];
  for (let round = -1; round < ROUNDS; round++) {
    const measured = {};
    const names = round % 2 === 0 ? Object.keys(services) : Object.keys(services).reverse();
    for (const name of names) {
      const [cpu, sessions] = [services[name].cpu(), postgres.sessions()];
      const { perSecond } = await load(services[name].url, { clients, requests: REQUESTS, path });
      measured[name] = {
        perSecond,
        cpu: (services[name].cpu() - cpu) / REQUESTS,
        sessions: postgres.sessions() - sessions,
      };
    }
    if (round >= 0) rounds.push(measured);
  }
  const of = (pick) => median(rounds.map(pick));
  console.log(`${clients} clients, median of ${ROUNDS} interleaved rounds of ${REQUESTS} requests`);
  console.table(
    Object.fromEntries(
      Object.keys(services).map((name) => [
        name,
        {
          "requests/s": Math.round(of((round) => round[name].perSecond)),
          "CPU ms": of((round) => round[name].cpu).toFixed(2),
          "new sessions": of((round) => round[name].sessions),
        },
      ]),
    ),
  );
  const ratio = of(({ eider, defaults }) => eider.perSecond / defaults.perSecond).toFixed(2);
  console.log(`requests/s, Eider / defaults: ${ratio}${clients === 32 ? " (goal: at least 3.5)" : ""}`);
}

const long = Object.fromEntries(Object.keys(services).map((name) => [name, []]));
for (let round = -1; round < ROUNDS; round++) {
  for (const [name, service] of Object.entries(services)) {
    const cpu = service.cpu();
    const start = performance.now();
    for (let i = 0; i < LONG_REQUESTS; i++) await (await fetch(`${service.url}/all`)).arrayBuffer();
    const measured = { ms: (performance.now() - start) / LONG_REQUESTS, cpu: (service.cpu() - cpu) / LONG_REQUESTS };
    if (round >= 0) long[name].push(measured);
  }
}
console.log(`${LONG_ROWS} rows as JSON, median of ${ROUNDS} interleaved rounds of ${LONG_REQUESTS} requests`);
console.table(
  Object.fromEntries(
    Object.entries(long).map(([name, rounds]) => [
      name,
      {
        ms: Math.round(median(rounds.map(({ ms }) => ms))),
        "CPU ms": Math.round(median(rounds.map(({ cpu }) => cpu))),
      },
    ]),
  ),
);
process.exit();
