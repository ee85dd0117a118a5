import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { blocksOf } from "../markdown.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { projectFolder } from "../project-folder.ts";
import { serveFolder } from "../serve-folder.ts";
import { serviceFrom } from "../service.ts";

const postgres = sharedPostgres();
const mariadb = sharedMariaDb();
const ROWS = "SELECT * FROM (VALUES (1, 12.5::DOUBLE), (2, 3::DOUBLE)) AS t(id, amount)";

interface Source {
  readonly extensions?: readonly string[];
  /** SQL that creates the data, for DuckDB, in the folder of the project. */
  readonly setup?: string;
}

const local: Readonly<Record<string, Source>> = {
  csv: { setup: `COPY (${ROWS}) TO '{folder}/data/orders.csv'` },
  json: { setup: `COPY (${ROWS}) TO '{folder}/data/orders.json'` },
  parquet: {
    setup: `COPY (SELECT *, 2024 AS year FROM (${ROWS})) TO '{folder}/data/orders' (FORMAT parquet, PARTITION_BY (year))`,
  },
  excel: {
    extensions: ["excel"],
    setup: `LOAD excel; COPY (${ROWS}) TO '{folder}/data/orders.xlsx' (FORMAT xlsx, HEADER true)`,
  },
  duckdb: { setup: `ATTACH '{folder}/data/shop.duckdb' AS s; CREATE TABLE s.orders AS ${ROWS}; DETACH s` },
  sqlite: {
    extensions: ["sqlite_scanner"],
    setup: `ATTACH '{folder}/data/shop.db' AS s (TYPE sqlite); CREATE TABLE s.orders AS ${ROWS}; DETACH s`,
  },
  ducklake: {
    extensions: ["ducklake"],
    setup: `ATTACH 'ducklake:{folder}/data/lake.ducklake' AS s; CREATE TABLE s.orders AS ${ROWS}; DETACH s`,
  },
};

/** Serves the first YAML and the first SQL of a page, and expects the JSON on it. */
async function runPage(name: string, { extensions = [], setup }: Source, env: Record<string, string> = {}) {
  const blocks = blocksOf(readFileSync(join(import.meta.dirname, `../../docs/sources/${name}.md`), "utf8"));
  const first = (language: string): string => blocks.find((block) => block.language === language)?.text ?? "";
  const settings =
    extensions.length === 0 ? "" : `duckdb: { extension_directory: '${extensionDirectory(...extensions)}' }\n`;
  const connection = /^ {2}(\w+):$/m.exec(first("yaml"))?.[1];
  using project = projectFolder({
    "eider.yaml": `${settings}environment-whitelist: SHOP_.*\n${first("yaml")}`,
    "x.yaml": `url-path: /x\ntemplate-source: x.sql\nconnection: ${connection}\nwith-pagination: false\n`,
    "x.sql": first("sql"),
  });
  mkdirSync(join(project.path, "data"));
  if (setup !== undefined) {
    const options = extensions.length === 0 ? {} : { extension_directory: extensionDirectory(...extensions) };
    const instance = await DuckDBInstance.create(":memory:", options);
    const native = await instance.connect();
    for (const sql of setup.replaceAll("{folder}", project.path).split("; ")) await native.run(sql);
    native.closeSync();
    instance.closeSync();
  }
  await using served = await serveFolder(project.path, env);
  expect(served.problems).toEqual([]);
  expect(await (await fetch(`${served.url}/x`)).json()).toEqual(JSON.parse(first("json")));
}

for (const [name, source] of Object.entries(local)) {
  const missing = source.extensions && missingExtensions(...source.extensions);
  testNeeding(missing)(`the example of ${name} returns its rows`, () => runPage(name, source));
}

const TABLE = "CREATE TABLE orders (id INT, amount DOUBLE PRECISION); INSERT INTO orders VALUES (1, 12.5), (2, 3)";

testNeeding(missingPostgres, missingExtensions("postgres_scanner"))(
  "the example of postgres returns its rows",
  async () => {
    const server = await postgres();
    const database = await server.createDatabase();
    await server.sql(database, TABLE);
    await runPage(
      "postgres",
      { extensions: ["postgres_scanner"] },
      {
        SHOP_HOST: "127.0.0.1",
        SHOP_PORT: String(server.port),
        SHOP_DATABASE: /dbname=(\w+)/.exec(database)?.[1] ?? "",
        SHOP_USER: server.user,
        SHOP_PASSWORD: server.password,
      },
    );
  },
);

testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))("the example of mysql returns its rows", async () => {
  const server = await mariadb();
  const database = await server.createDatabase();
  await server.sql(database, TABLE);
  await runPage(
    "mysql",
    { extensions: ["mysql_scanner"] },
    {
      SHOP_HOST: "127.0.0.1",
      SHOP_PORT: String(server.port),
      SHOP_DATABASE: database,
      SHOP_USER: "root",
    },
  );
});

testNeeding(missingExtensions("httpfs", "azure"))(
  "DuckDB accepts the secrets, which are there before other connections open",
  async () => {
    await using service = await serviceFrom({
      "eider.yaml": `duckdb: { extension_directory: '${extensionDirectory("httpfs", "azure")}' }
connections:
  a_view: { lazy: false, init: "CREATE TABLE found AS SELECT name, type FROM duckdb_secrets() ORDER BY name" }
  s3: { type: s3-secret, key-id: a, secret: b, region: c, url-style: path, use-ssl: false, requester-pays: true, lazy: false }
  gcs: { type: gcs-secret, key-id: a, secret: b, scope: "gs://x", lazy: false }
  gcs_token: { type: gcs-secret, bearer-token: a, lazy: false }
  azure: { type: azure-secret, connection-string: a, lazy: false }
  azure_chain: { type: azure-secret, account-name: a, lazy: false }
  azure_principal: { type: azure-secret, account-name: a, tenant-id: b, client-id: c, client-secret: d, lazy: false }
  http: { type: http-secret, bearer-token: a, scope: "https://x", lazy: false }
  http_key: { type: http-secret, api-key: a, api-key-header: X-Key, http-proxy: p, http-proxy-password: q, lazy: false }
`,
      "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: a_view\nwith-pagination: false\n",
      "x.sql": "SELECT name, type FROM found ORDER BY name",
    });
    expect(service.problems).toEqual([]);
    expect(await service.json("/x")).toEqual(
      ["azure", "azure_chain", "azure_principal", "gcs", "gcs_token", "http", "http_key", "s3"].map((name) => ({
        name,
        type: name.replace(/_.*/, ""),
      })),
    );
  },
);
