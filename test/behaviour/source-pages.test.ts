import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { forwardTo, startHttpsProxy } from "../https-proxy.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { MOTO_REGION, sharedMoto } from "../moto.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { projectFolder } from "../project-folder.ts";
import { missingPython } from "../python.ts";
import { serviceFrom } from "../service.ts";
import { ORDERS, writeDeltaTable, writeIcebergTable } from "../source-pages/orders.ts";
import { runPage, runSql } from "../source-pages/run-page.ts";

const postgres = sharedPostgres();
const mariadb = sharedMariaDb();
const moto = sharedMoto();

interface LocalSource {
  readonly extensions?: readonly string[];
  readonly setup: (data: string) => Promise<void>;
}

/** An attached database with the table `orders`. */
const attached =
  (address: (data: string) => string, extensions: readonly string[] = []) =>
  (data: string): Promise<void> =>
    runSql([`ATTACH ${address(data)} AS s`, `CREATE TABLE s.orders AS ${ORDERS}`, "DETACH s"], extensions);

const local: Readonly<Record<string, LocalSource>> = {
  csv: { setup: (data) => runSql([`COPY (${ORDERS}) TO '${data}/orders.csv'`]) },
  json: { setup: (data) => runSql([`COPY (${ORDERS}) TO '${data}/orders.json'`]) },
  parquet: { setup: (data) => runSql([`COPY (${ORDERS}) TO '${data}/orders' (FORMAT parquet, PARTITION_BY (year))`]) },
  excel: {
    extensions: ["excel"],
    setup: (data) =>
      runSql(["LOAD excel", `COPY (${ORDERS}) TO '${data}/orders.xlsx' (FORMAT xlsx, HEADER true)`], ["excel"]),
  },
  duckdb: { setup: attached((data) => `'${data}/shop.duckdb'`) },
  sqlite: { extensions: ["sqlite_scanner"], setup: attached((data) => `'sqlite:${data}/shop.db'`, ["sqlite_scanner"]) },
  ducklake: { extensions: ["ducklake"], setup: attached((data) => `'ducklake:${data}/lake.ducklake'`, ["ducklake"]) },
  iceberg: { extensions: ["iceberg", "avro"], setup: (data) => writeIcebergTable({ folder: join(data, "orders") }) },
  delta: { extensions: ["delta"], setup: (data) => writeDeltaTable({ folder: join(data, "orders") }) },
};

for (const [name, source] of Object.entries(local)) {
  testNeeding(source.extensions && missingExtensions(...source.extensions))(
    `the example of ${name} returns its rows`,
    () => runPage(name, source),
  );
}

const TABLE = "CREATE TABLE orders (id INT, amount DOUBLE PRECISION); INSERT INTO orders VALUES (1, 12.5), (2, 3)";

testNeeding(missingPostgres, missingExtensions("postgres_scanner"))(
  "the example of postgres returns its rows",
  async () => {
    const server = await postgres();
    const database = await server.createDatabase();
    await server.sql(database, TABLE);
    const env = {
      SHOP_HOST: "127.0.0.1",
      SHOP_PORT: String(server.port),
      SHOP_DATABASE: /dbname=(\w+)/.exec(database)?.[1] ?? "",
      SHOP_USER: server.user,
      SHOP_PASSWORD: server.password,
    };
    await runPage("postgres", { extensions: ["postgres_scanner"], env });
  },
);

testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))("the example of mysql returns its rows", async () => {
  const server = await mariadb();
  const database = await server.createDatabase();
  await server.sql(database, TABLE);
  const env = { SHOP_HOST: "127.0.0.1", SHOP_PORT: String(server.port), SHOP_DATABASE: database, SHOP_USER: "root" };
  await runPage("mysql", { extensions: ["mysql_scanner"], env });
});

/** Puts the files of a folder into a bucket of moto. */
async function upload(folder: string, bucket: string): Promise<void> {
  const { url } = await moto();
  expect((await fetch(`${url}/${bucket}`, { method: "PUT" })).ok).toBe(true);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    const path = file.slice(folder.length + 1);
    expect((await fetch(`${url}/${bucket}/${path}`, { method: "PUT", body: readFileSync(file) })).ok).toBe(true);
  }
}

const withMoto = testNeeding(missingExtensions("httpfs", "iceberg", "avro", "delta"), missingPython("moto.server"));
const KEYS = { SHOP_KEY: "test-id", SHOP_SECRET: "test-key" };

withMoto("the examples of s3 and gcs return their rows: the proxy leads them to moto", async () => {
  using project = projectFolder({});
  await runSql([`COPY (${ORDERS}) TO '${project.path}/orders' (FORMAT parquet, PER_THREAD_OUTPUT)`]);
  await upload(project.path, "acme-shop");
  const forward = forwardTo((await moto()).url);
  const requested = new Set<string>();
  const hosts = [`acme-shop.s3.${MOTO_REGION}.amazonaws.com`, "storage.googleapis.com"];
  await using proxy = await startHttpsProxy(hosts, (request, response) => {
    const { host = "", authorization = "" } = request.headers;
    requested.add(`${host} ${/Credential=([\w-]+)/.exec(authorization)?.[1]}`);
    // Moto takes the first part of an unknown host for a bucket.
    if (host === "storage.googleapis.com") request.headers.host = "127.0.0.1";
    forward(request, response);
  });
  const trusted = join(project.path, "trusted.pem");
  writeFileSync(trusted, proxy.certificate);
  const settings = { http_proxy: proxy.address, ca_cert_file: trusted };
  for (const page of ["s3", "gcs"]) await runPage(page, { extensions: ["httpfs"], env: KEYS, settings });
  expect([...requested]).toEqual(hosts.map((host) => `${host} test-id`));
});

testNeeding(missingExtensions("httpfs"))("the example of http returns its rows, and sends its key", async () => {
  using project = projectFolder({});
  const keys = new Set<unknown>();
  await using proxy = await startHttpsProxy(["partner.example"], (request, response) => {
    keys.add(request.headers["x-partner-key"]);
    const isKnown = request.url === "/orders.csv" && request.headers["x-partner-key"] === KEYS.SHOP_KEY;
    response.writeHead(isKnown ? 200 : 403).end(isKnown ? "id,amount\n1,12.5\n2,3.0\n" : "");
  });
  const trusted = join(project.path, "trusted.pem");
  writeFileSync(trusted, proxy.certificate);
  const settings = { http_proxy: proxy.address, ca_cert_file: trusted };
  await runPage("http", { extensions: ["httpfs"], env: KEYS, settings });
  expect([...keys]).toEqual([KEYS.SHOP_KEY]);
});

withMoto("tables of Iceberg and Delta in a bucket, with the secret of another connection", async () => {
  using project = projectFolder({});
  const location = "s3://lake/iceberg/orders";
  await writeIcebergTable({ folder: join(project.path, "iceberg/orders"), location });
  await writeDeltaTable({ folder: join(project.path, "delta/orders") });
  await upload(project.path, "lake");
  await using service = await serviceFrom({
    "eider.yaml": `duckdb: { extension_directory: '${extensionDirectory("httpfs", "iceberg", "avro", "delta")}' }
connections:
  bucket: { type: s3-secret, key-id: test-id, secret: test-key, region: ${MOTO_REGION}, endpoint: "127.0.0.1:${(await moto()).port}", url-style: path, use-ssl: false }
  iceberg_orders: { type: iceberg, path: "${location}" }
  delta_orders: { type: delta, path: s3://lake/delta/orders }
`,
    "x.yaml":
      "url-path: /x\ntemplate-source: x.sql\nconnection: [iceberg_orders, delta_orders]\nwith-pagination: false\n",
    "x.sql": "SELECT id, i.amount, d.year FROM iceberg_orders i JOIN delta_orders d USING (id) ORDER BY id",
  });
  expect(service.problems).toEqual([]);
  expect(await service.json("/x")).toEqual([
    { id: 1, amount: 12.5, year: 2023 },
    { id: 2, amount: 3, year: 2024 },
  ]);
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
