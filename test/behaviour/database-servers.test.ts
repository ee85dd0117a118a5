import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { expect } from "vitest";
import { openDuckDb } from "../../src/engines/duckdb/open-duckdb.ts";
import { formats } from "../../src/formats/index.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { runHere } from "../process/program.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { answerOf, readOf } from "../suites/duckdb-engine.ts";
import { readParquet } from "../suites/parquet-file.ts";

const postgres = sharedPostgres();
const mariaDb = sharedMariaDb();
const withPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));
const withMariaDb = testNeeding(missingMariaDb, missingExtensions("mysql_scanner"));

const QUERIES = 8;
/** Each row names the session of the server that returned it. */
const sessionsView = (session: string): string => `CREATE VIEW sessions AS SELECT id, ${session} AS session FROM t`;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function mainFile(extension: string, connection: string): Files {
  return {
    "eider.yaml": `duckdb: { extension_directory: '${extensionDirectory(extension)}' }
limits: { max-concurrent-queries: ${QUERIES} }
connections: { crm: ${connection} }
`,
  };
}

const READS: Files = {
  "session.yaml": `url-path: /session
template-source: session.sql
connection: crm
with-pagination: false
request: [{ field-name: id, field-in: query, required: true, validators: [{ type: int }] }]
`,
  "session.sql": "SELECT session FROM crm.sessions WHERE id = {{params.id}}",
  "settings.yaml": "url-path: /settings\ntemplate-source: settings.sql\nconnection: crm\nwith-pagination: false\n",
  "settings.sql": `SELECT name, value FROM duckdb_settings()
WHERE name IN ('pg_pool_max_connections', 'pg_pages_per_task', 'mysql_pool_size') ORDER BY name`,
};

/** Endpoints that each change rows by one statement. */
function writes(statements: Readonly<Record<string, string>>): Files {
  return Object.fromEntries(
    Object.entries(statements).flatMap(([name, sql]) => [
      [`${name}.yaml`, `url-path: /${name}\nmethod: POST\ntemplate-source: ${name}.sql\nconnection: crm\n`],
      [`${name}.sql`, sql],
    ]),
  );
}

/** How many sessions of the server return the rows of 400 requests by 32 clients. */
async function countSessions(service: TestService): Promise<number> {
  const sessions = new Set<unknown>();
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < 400) {
      const rows = await service.json(`/session?id=${(sent++ % 100) + 1}`);
      sessions.add(JSON.stringify(rows));
    }
  };
  await Promise.all(Array.from({ length: 32 }, client));
  return sessions.size;
}

async function postgresTables(): Promise<string> {
  const server = await postgres();
  const dsn = await server.createDatabase();
  await server.sql(dsn, "CREATE TABLE t AS SELECT i AS id FROM generate_series(1, 100) i");
  await server.sql(dsn, sessionsView("pg_backend_pid()"));
  return dsn;
}

withPostgres("many requests share a few sessions of Postgres", async () => {
  const init = `{ init: "LOAD postgres; ATTACH ${quoted(await postgresTables())} AS crm (TYPE postgres)" }`;
  await using service = await serviceFrom({ ...mainFile("postgres_scanner", init.replaceAll("\\", "\\\\")), ...READS });
  expect(await countSessions(service)).toBeLessThanOrEqual(QUERIES * 2);
});

withPostgres(
  "the settings come before ATTACH, also if that loads the extension, and an init can change them",
  async () => {
    const dsn = (await postgresTables()).replaceAll("\\", "\\\\");
    for (const [statements, pages] of [
      ["", "1000000000"],
      ["LOAD postgres; SET GLOBAL pg_pages_per_task = 2000; ", "2000"],
    ] as const) {
      const init = `{ init: "${statements}ATTACH ${quoted(dsn)} AS crm (TYPE postgres)" }`;
      await using service = await serviceFrom({ ...mainFile("postgres_scanner", init), ...READS });
      expect(await service.json("/settings")).toEqual([
        { name: "pg_pages_per_task", value: pages },
        { name: "pg_pool_max_connections", value: String(QUERIES * 2) },
      ]);
    }
  },
);

withPostgres(
  "decimals of Postgres that DuckDB does not have: a scale above the precision, and a negative one",
  async () => {
    const server = await postgres();
    const dsn = await server.createDatabase();
    await server.sql(dsn, "CREATE TABLE small (v numeric(2,4)); INSERT INTO small VALUES (0.0012)");
    await server.sql(dsn, "CREATE TABLE large (v numeric(5,-2)); INSERT INTO large VALUES (12345)");
    const endpoint = (name: string): Files => ({
      [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: crm\nwith-pagination: false\n`,
      [`${name}.sql`]: `SELECT v FROM crm.${name}`,
    });
    const connection = `{ type: postgres, dsn: ${JSON.stringify(dsn)} }`;
    await using service = await serviceFrom({
      ...mainFile("postgres_scanner", connection),
      ...endpoint("small"),
      ...endpoint("large"),
    });
    expect(await (await service.get("/small")).text()).toBe('[{"v":0.0012}]');
    const arrow = tableFromIPC(await (await service.get("/small?format=arrow")).arrayBuffer());
    expect(String(arrow.schema.fields[0]?.type)).toBe("Decimal[4e+4]");
    const file = join(service.folder, "small.parquet");
    writeFileSync(file, Buffer.from(await (await service.get("/small?format=parquet")).arrayBuffer()));
    expect(await readParquet(file)).toMatchObject({ types: ["DECIMAL(4,4)"], rows: [[".0012"]] });
    for (const format of formats) {
      const response = await service.get(`/large?format=${format.name}`);
      const error = "DECIMAL(5,-2) cannot be returned; cast the column in the database that it comes from";
      expect(await response.json()).toEqual({ error: `Internal Server Error: ${error}` });
    }
  },
);

withPostgres(
  "an init that attaches Postgres after the settings are locked, because it took longer than startup",
  async () => {
    const engine = await openDuckDb({
      path: undefined,
      settings: new Map([["extension_directory", extensionDirectory("postgres_scanner")]]),
      connections: [
        {
          name: "crm",
          init: `LOAD postgres; ATTACH ${quoted(await postgresTables())} AS crm (TYPE postgres)`,
          secrets: [],
        },
      ],
      maxConcurrentQueries: QUERIES,
      maxQueued: 10,
    });
    try {
      await engine.lock([]);
      await engine.openConnection("crm");
      const setting = (name: string): string => `current_setting('${name}')::VARCHAR`;
      const sql = `SELECT ${["pg_pages_per_task", "pg_pool_max_connections", "lock_configuration"].map(setting).join(" || ' ' || ")}`;
      expect((await answerOf(await engine.read(readOf({ statements: sql })))).rows).toEqual([["1000000000 16 true"]]);
    } finally {
      await engine.close();
    }
  },
);

withMariaDb("many requests share a few sessions of MariaDB", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  await server.sql(database, "CREATE TABLE t AS SELECT seq AS id FROM seq_1_to_100");
  await server.sql(database, sessionsView("CONNECTION_ID()"));
  const connection = `{ type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database} }`;
  await using service = await serviceFrom({ ...mainFile("mysql_scanner", connection), ...READS });
  expect(await countSessions(service)).toBeLessThanOrEqual(QUERIES * 2);
  expect(await service.json("/settings")).toEqual([{ name: "mysql_pool_size", value: String(QUERIES * 2) }]);
});

withMariaDb("a setting of MySQL's extension in an init holds for many endpoints and clients", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
  const tables = names.map(
    (name) => `CREATE TABLE ${name} AS SELECT CAST(7 AS INT) AS n; ALTER TABLE ${name} MODIFY n TINYINT(1)`,
  );
  await server.sql(database, tables.join("; "));
  const endpoints = names.flatMap((name) => [
    [`${name}.yaml`, `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: crm\nwith-pagination: false\n`],
    [`${name}.sql`, `SELECT n FROM crm.${name}`],
  ]);
  for (const scope of ["", " GLOBAL"]) {
    const init = `SET${scope} mysql_tinyint1_as_boolean = false`;
    const connection = `{ type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database}, init: "${init}" }`;
    await using service = await serviceFrom({
      ...mainFile("mysql_scanner", connection),
      ...Object.fromEntries(endpoints),
    });
    expect(await Promise.all(names.map((name) => service.json(`/${name}`)))).toEqual(names.map(() => [{ n: 7 }]));
  }
});

const CLIENTS = 16;
const TIMES = 5;

/** How often each status was returned to clients that write at the same time. */
async function statusesOf(service: TestService, path: string): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  const client = async (): Promise<void> => {
    for (let time = 0; time < TIMES; time++) {
      const { status } = await service.request(path, { method: "POST" });
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return counts;
}

withPostgres("clients that change one row of Postgres at the same time: none fails, no change is lost", async () => {
  const server = await postgres();
  const dsn = await server.createDatabase();
  await server.sql(dsn, "CREATE TABLE counter AS SELECT 1 AS id, 0 AS n");
  const init = `{ init: "LOAD postgres; ATTACH ${quoted(dsn)} AS crm (TYPE postgres)" }`.replaceAll("\\", "\\\\");
  const updates = {
    update: "UPDATE crm.counter SET n = n + 1 WHERE id = 1",
    execute: "CALL postgres_execute('crm', 'UPDATE counter SET n = n + 1 WHERE id = 1')",
  };
  await using service = await serviceFrom({ ...mainFile("postgres_scanner", init), ...writes(updates) });
  for (const [index, name] of Object.keys(updates).entries()) {
    expect(await statusesOf(service, `/${name}`)).toEqual({ 200: CLIENTS * TIMES });
    expect(await server.sql(dsn, "SELECT n FROM counter")).toBe(String(CLIENTS * TIMES * (index + 1)));
  }
});

withMariaDb("clients that change one row of MariaDB at the same time: none fails, no change is lost", async () => {
  const server = await mariaDb();
  const database = await server.createDatabase();
  await server.sql(database, "CREATE TABLE counter (id INT PRIMARY KEY, n INT); INSERT INTO counter VALUES (1, 0)");
  const connection = `{ type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database} }`;
  const updates = {
    update: "UPDATE crm.counter SET n = n + 1 WHERE id = 1",
    execute: "CALL mysql_execute('crm', 'UPDATE counter SET n = n + 1 WHERE id = 1')",
  };
  await using service = await serviceFrom({ ...mainFile("mysql_scanner", connection), ...writes(updates) });
  for (const [index, name] of Object.keys(updates).entries()) {
    expect(await statusesOf(service, `/${name}`)).toEqual({ 200: CLIENTS * TIMES });
    expect(await server.sql(database, "SELECT n FROM counter")).toBe(String(CLIENTS * TIMES * (index + 1)));
  }
});

withPostgres("check: large tables that DuckDB reads as a whole", async () => {
  const server = await postgres();
  const dsn = await server.createDatabase();
  await server.sql(dsn, "CREATE TABLE large AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 200000) i");
  await server.sql(dsn, "CREATE TABLE small AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 100) i");
  await server.sql(dsn, "ANALYZE");
  const queries = {
    aggregate: "SELECT count(*) AS n FROM crm.large",
    filter: "SELECT name FROM crm.large\nWHERE upper(name) = '{{{params.name}}}'",
    join: "SELECT name FROM crm.small JOIN crm.large USING (name)",
    "look-up": "SELECT name FROM crm.large WHERE id = {{params.id}}",
    optional:
      "SELECT name FROM crm.large WHERE true {{#params.id}} AND id = {{params.id}} {{/params.id}} ORDER BY name",
    page: "SELECT name FROM crm.large",
    remote: "FROM postgres_query('crm', 'SELECT count(*) AS n FROM large')",
    small: "SELECT name FROM crm.small ORDER BY name",
    sort: "SELECT name FROM\n  crm.large ORDER BY id LIMIT 10",
  };
  const field = (name: string, type: string): string =>
    `  - { field-name: ${name}, field-in: query, validators: [{ type: ${type} }] }\n`;
  const endpoint = ([name, sql]: readonly [string, string]) => [
    [
      `${name}.yaml`,
      `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: crm\nrequest:\n${field("id", "int")}${field("name", "string")}`,
    ],
    [`${name}.sql`, sql],
  ];
  const init = `{ init: "LOAD postgres; ATTACH ${quoted(dsn)} AS crm (TYPE postgres)" }`.replaceAll("\\", "\\\\");
  const files = Object.fromEntries(Object.entries(queries).flatMap(endpoint)) as Files;
  const { code, stdout, stderr } = await runHere(
    { ...mainFile("postgres_scanner", init), ...files },
    { args: ["check"] },
  );
  const warning = (place: string, cause: string, note = ""): string =>
    `${place}: warning: each request${note} reads about N rows of 'large' from Postgres, because DuckDB ${cause} itself; ` +
    "let Postgres run the query (postgres_query, with sql_literal around values), or cache it";
  expect(
    stderr
      .replaceAll(/about [\d,]+ rows/g, "about N rows")
      .trimEnd()
      .split("\n"),
  ).toEqual([
    warning("aggregate.sql:1:31", "aggregates them"),
    warning("filter.sql:1:22", "evaluates (upper(name) = 'a')"),
    warning("join.sql:1:37", "joins them"),
    warning("optional.sql:1:22", "sorts them", " if not all of its parameters are set"),
    warning("sort.sql:2:7", "sorts and limits them"),
  ]);
  expect([code, stdout]).toEqual([0, "9 endpoints, no errors, 5 warnings\n"]);
});
