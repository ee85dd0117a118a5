import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { sharedMoto } from "../moto.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, folderWith, run, start } from "../process/program.ts";
import { missingPython } from "../python.ts";
import { until } from "../until.ts";

const SECRET = "n0t-for-logs";
const postgres = sharedPostgres();
const mariaDb = sharedMariaDb();
const moto = sharedMoto();
const needsPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));
const needsMariaDb = testNeeding(missingMariaDb, missingExtensions("mysql_scanner"));
const needsS3 = testNeeding(missingExtensions("httpfs"), missingPython("moto.server"));

/** The endpoint `/x` over the connection `db`, and one over none. */
function project(connections: string, sql: string, extensions: readonly string[] = []): Files {
  const settings =
    extensions.length === 0 ? "" : `duckdb: { extension_directory: '${extensionDirectory(...extensions)}' }\n`;
  return {
    "eider.yaml": `http-port: 0\nmetrics: { enabled: true, public: true }\n${settings}connections:\n  memory: {}\n${connections}\n`,
    "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [db]\nwith-pagination: false\n",
    "x.sql": sql,
    "local.yaml": "url-path: /local\ntemplate-source: local.sql\nconnection: [memory]\nwith-pagination: false\n",
    "local.sql": "SELECT 1 AS a",
  };
}

interface Expected {
  readonly status: number;
  /** What Eider says when it starts, and `eider check` too. */
  readonly log: RegExp;
}

/** The service starts, serves what it can, and says what is wrong without a secret. */
async function expectStarted(files: Files, { status, log }: Expected): Promise<void> {
  await using program = await start(files);
  const url = await program.url();
  const shown: string[] = [];
  for (const path of ["/x", "/health/ready", "/metrics", "/local"]) {
    const answer = await fetch(url + path);
    shown.push(`${path} ${answer.status} ${await answer.text()}`);
  }
  expect(shown[0]).toMatch(new RegExp(`^/x ${status} `));
  expect(shown[3]).toBe('/local 200 [{"a":1}]');
  expect(program.stderr()).toMatch(log);
  const checked = await run(files, { args: ["check"] });
  shown.push(program.stdout(), program.stderr(), checked.stdout, checked.stderr);
  expect(checked.code).toBe(0);
  expect(checked.stderr).toMatch(log);
  expect(shown.join("\n")).not.toContain(SECRET);
}

function postgresAt(dsn: string): Files {
  return project(`  db: { type: postgres, dsn: ${JSON.stringify(dsn)} }`, "SELECT id FROM db.t", ["postgres_scanner"]);
}

needsPostgres("a wrong password", async () => {
  const server = await postgres();
  const database = await server.createDatabase();
  await expectStarted(postgresAt(database.replace(/password=.*/, `password=${SECRET}`)), {
    status: 503,
    log: /connection 'db' cannot be reached: the server rejects the user eider or the password; check both; .*password authentication failed/,
  });
});

needsPostgres("a host that does not exist", () =>
  expectStarted(postgresAt(`host=nowhere.invalid dbname=a user=b password=${SECRET}`), {
    status: 503,
    log: /connection 'db' cannot be reached: there is no host nowhere\.invalid; check its name; .*could not translate host name/,
  }),
);

needsPostgres("TLS that the server does not offer", async () => {
  const database = await (await postgres()).createDatabase();
  await expectStarted(postgresAt(`${database.replace(/password=.*/, `password=${SECRET}`)} sslmode=require`), {
    status: 503,
    log: /connection 'db' cannot be reached: the server offers no TLS; turn it on there, or change ssl-mode; .*server does not support SSL/,
  });
});

needsS3("a bucket that does not exist", async () => {
  const { url } = await moto();
  const address = `region: us-east-1, endpoint: ${url.replace("http://", "")}, url-style: path, use-ssl: "false"`;
  const init = "CREATE VIEW x AS FROM 's3://nowhere/x.parquet'";
  const db = `  db: { type: s3-secret, key-id: id, secret: ${SECRET}, ${address}, init: "${init}" }`;
  await expectStarted(project(db, "FROM x", ["httpfs"]), {
    status: 503,
    log: /connection 'db' cannot be reached: there is no(?:thing at| bucket for) s3:\/\/nowhere\/x\.parquet.*; .*'s3:\/\/nowhere\/x.parquet'.*404/,
  });
});

test("a truncated Parquet file", async () => {
  await using folder = await folderWith({});
  const path = join(folder.path, "x.parquet");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT range AS id FROM range(10000)) TO '${path}'`);
  connection.closeSync();
  instance.closeSync();
  const bytes = await readFile(path);
  await writeFile(path, bytes.subarray(0, bytes.length >> 1));
  await expectStarted(project(`  db: { type: parquet, path: ${path} }`, "FROM db"), {
    status: 503,
    log: /connection 'db' cannot be reached: \S*x\.parquet is no Parquet file, or only a part of one; .*No magic bytes found at end of file .*x\.parquet/,
  });
});

/** The table is created while the service runs. */
interface EmptyDatabase {
  readonly files: Files;
  readonly message: string;
  createTable(): Promise<unknown>;
}

/** `check` reports the error, but the service starts without the table, and finds it once it is there. */
async function expectTableLater({ files, message, createTable }: EmptyDatabase): Promise<void> {
  const checked = await run(files, { args: ["check"] });
  expect([checked.code, checked.stderr]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^x\\.sql:1:\\d+: .*${message}`)),
  ]);
  await using program = await start(files);
  const url = await program.url();
  expect(program.stderr()).toMatch(
    new RegExp(`^x\\.sql:1:\\d+: warning: .*${message}.*; calls fail until it exists$`, "m"),
  );
  const answer = await fetch(`${url}/x`);
  expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining(message)]);
  expect(program.stderr()).toMatch(new RegExp(`"query failed: .*${message}`));
  expect(await (await fetch(`${url}/local`)).text()).toBe('[{"a":1}]');
  await createTable();
  await until("the table to be found", async () => (await fetch(`${url}/x`)).status === 200);
  expect(await (await fetch(`${url}/x`)).json()).toEqual([{ id: 1 }]);
}

needsPostgres("a database without the table", async () => {
  const server = await postgres();
  const database = await server.createDatabase();
  await expectTableLater({
    files: postgresAt(database),
    message: "Table with name t does not exist",
    createTable: () => server.sql(database, "CREATE TABLE t AS SELECT 1 AS id"),
  });
});

needsPostgres("a database without the schema", async () => {
  const server = await postgres();
  const database = await server.createDatabase();
  const files = postgresAt(database);
  await expectTableLater({
    files: { ...files, "x.sql": "SELECT id FROM db.sales.t" },
    message: "does not exist because schema",
    createTable: () => server.sql(database, "CREATE SCHEMA sales; CREATE TABLE sales.t AS SELECT 1 AS id"),
  });
});

testNeeding(missingPostgres)("a database without the table, if Postgres runs the SQL", async () => {
  const { port, user, password, ...server } = await postgres();
  const dsn = await server.createDatabase();
  const address = {
    engine: "postgres",
    host: "127.0.0.1",
    port,
    user,
    password,
    database: /dbname=(\w+)/.exec(dsn)?.[1],
  };
  await expectTableLater({
    files: project(`  db: ${JSON.stringify(address)}`, "SELECT id FROM t"),
    message: "relation",
    createTable: () => server.sql(dsn, "CREATE TABLE t AS SELECT 1 AS id"),
  });
});

testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))("a MariaDB database without the table", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  const db = `  db: { type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database} }`;
  await expectTableLater({
    files: project(db, "SELECT id FROM db.t", ["mysql_scanner"]),
    message: "Table with name t does not exist",
    createTable: () => server.sql(database, "CREATE TABLE t AS SELECT 1 AS id"),
  });
});

needsPostgres(
  "what a server cannot add stays an error: a function of DuckDB, and syntax after the missing table",
  async () => {
    const database = await (await postgres()).createDatabase();
    for (const [sql, message] of [
      ["SELECT no_such(1) FROM (SELECT 1 AS a)", "Scalar Function with name no_such does not exist"],
      ["CREATE TEMP TABLE a AS FROM db.t; SELEC 1", "syntax error"],
    ]) {
      const { code, stderr } = await run({ ...postgresAt(database), "x.sql": sql }, { args: ["serve"] });
      expect([code, stderr]).toEqual([1, expect.stringContaining(message ?? "")]);
    }
  },
);

test("files that a template names: the response contains the error, the log also what it means", async () => {
  const files = project("  db: {}", "FROM read_parquet('part.parquet')");
  const missing = { "y.yaml": files["x.yaml"]?.replaceAll(/\bx\b/g, "y"), "y.sql": "FROM 'nowhere/*.parquet'" };
  await using program = await start({ ...files, ...missing, "part.parquet": "PAR1 and so on" });
  const url = await program.url();
  for (const [path, error, log] of [
    [
      "/x",
      "Invalid Input Error: No magic bytes found at end of file 'part.parquet'",
      "part.parquet is no Parquet file, or only a part of one",
    ],
    [
      "/y",
      'IO Error: No files found that match the pattern "nowhere/*.parquet"',
      `no file matches nowhere/*.parquet in the working directory ${await realpath(program.folder)}`,
    ],
  ] as const) {
    const answer = await fetch(url + path);
    expect([answer.status, await answer.json()]).toEqual([500, { error: `Internal Server Error: ${error}` }]);
    await until("the line", () => program.stderr().includes(JSON.stringify(`query failed: ${log}; ${error}`)));
  }
  expect((await fetch(`${url}/local`)).status).toBe(200);
});

needsPostgres("a database that does not exist, and a port without a server", async () => {
  const server = await postgres();
  const address = `host=127.0.0.1 port=${server.port} user=${server.user} password='${server.password.replace(/['\\]/g, "\\$&")}'`;
  await expectStarted(postgresAt(`${address} dbname=nowhere`), {
    status: 503,
    log: /connection 'db' cannot be reached: the server has no database nowhere; /,
  });
  await expectStarted(postgresAt(`host=127.0.0.1 port=1 dbname=a user=b password=${SECRET}`), {
    status: 503,
    log: /connection 'db' cannot be reached: nothing listens on port 1 of 127\.0\.0\.1; check whether the server runs there; /,
  });
});

function mysqlAt(dsn: string): Files {
  return project(`  db: { type: mysql, dsn: ${JSON.stringify(dsn)} }`, "SELECT id FROM db.t", ["mysql_scanner"]);
}

needsMariaDb("MariaDB: a wrong password, host, port and database, and TLS that it does not offer", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  const address = `host=127.0.0.1 port=${server.port}`;
  for (const [dsn, reason] of [
    [
      `${address} user=root database=${database} password=${SECRET}`,
      "the server rejects the user root or the password; check both",
    ],
    [
      `host=nowhere.invalid user=root database=${database} password=${SECRET}`,
      "there is no host nowhere.invalid; check its name",
    ],
    [
      `host=127.0.0.1 port=1 user=root database=${database} password=${SECRET}`,
      "no MySQL server can be reached at 127.0.0.1; check host and port, and whether it runs",
    ],
    [`${address} user=root database=nowhere`, "the server has no database nowhere"],
    [
      `${address} user=root database=${database} ssl_mode=required`,
      "the server offers no TLS; turn it on there, or change ssl-mode",
    ],
  ] as const) {
    const log = new RegExp(`connection 'db' cannot be reached: ${reason.replaceAll(".", "\\.")}; `);
    await expectStarted(mysqlAt(dsn), { status: 503, log });
  }
});

needsMariaDb("MariaDB: a database without the table", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  await server.sql(database, "CREATE TABLE tt (id INT); CREATE TABLE other (id INT)");
  const { code, stderr } = await run(mysqlAt(`host=127.0.0.1 port=${server.port} user=root database=${database}`), {
    args: ["check"],
  });
  expect([code, stderr]).toEqual([
    1,
    // MariaDB lists the tables of the other databases of this server too, such as those of other tests.
    expect.stringMatching(/^x\.sql:1:16: no table t in db; tables there: (?:t, )?tt, other; /),
  ]);
});
