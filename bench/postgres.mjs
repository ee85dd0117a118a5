// Look-ups by key in an attached Postgres, a different key each time: Eider, and Eider with the defaults of DuckDB's extension.
//   npm run build && EIDER_TEST_EXTENSIONS=<folder with postgres_scanner.duckdb_extension> node bench/postgres.mjs
// EIDER_BENCH_ROUNDS (default 5) sets the rounds after warm-up.
import { extensionFolder, folderOf, load, median, runSql, startEider } from "./load.mjs";
import { startPostgres } from "./postgres-server.mjs";

const ROUNDS = Number(process.env.EIDER_BENCH_ROUNDS ?? 5);
const REQUESTS = 300;
const ROWS = 1_000_000;
const extensions = extensionFolder("postgres_scanner");

const postgres = await startPostgres();
await fill();

const DEFAULTS = "SET GLOBAL pg_pool_max_connections = 4; SET GLOBAL pg_pages_per_task = 1000; ";
const startWith = (settings) =>
  startEider(
    folderOf({
      "eider.yaml": `duckdb: { extension_directory: '${extensions}' }
connections:
  crm: { init: "LOAD postgres; ${settings}ATTACH '${postgres.dsn}' AS crm (TYPE postgres)" }
`,
      "customer.yaml": `url-path: /customers/:id
template-source: customer.sql
connection: [crm]
request: [{ field-name: id, field-in: path, required: true, validators: [{ type: int }] }]
`,
      "customer.sql": "SELECT * FROM crm.customers WHERE id = {{params.id}}",
    }),
  );
const services = { eider: await startWith(""), defaults: await startWith(DEFAULTS) };

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
process.exit();
