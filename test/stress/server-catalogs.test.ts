import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, type Program, start } from "../process/program.ts";
import { until } from "../until.ts";

const RELOADS = 20;
const CLIENTS = 3;

const postgres = sharedPostgres();
const mariaDb = sharedMariaDb();

/** A database, and how to change it. */
interface Source {
  readonly dsn: string;
  sql(text: string): Promise<unknown>;
}

/** Not the table that is read: a server lets readers wait while it changes a table. */
const CREATE = "CREATE TABLE changing (id INT); INSERT INTO changing VALUES (1)";

async function postgresSource(): Promise<Source> {
  const server = await postgres();
  const dsn = await server.createDatabase();
  await server.sql(dsn, CREATE);
  await server.sql(dsn, "CREATE TABLE t AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 5000) i");
  return { dsn, sql: (text) => server.sql(dsn, text) };
}

async function mariaDbSource(): Promise<Source> {
  const server = await mariaDb();
  const database = await server.createDatabase();
  await server.sql(database, CREATE);
  await server.sql(
    database,
    "CREATE TABLE t (id INT PRIMARY KEY) AS SELECT seq AS id, concat('name ', seq) AS name FROM seq_1_to_5000",
  );
  const dsn = `host=127.0.0.1 port=${server.port} user=root database=${database}`;
  return { dsn, sql: (text) => server.sql(database, text) };
}

function endpoint(name: string, sql: string, yaml = "with-pagination: false\n"): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [db]\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

const ID = "request: [{ field-name: id, field-in: query, required: true, validators: [{ type: int }] }]\n";

/** Everything that uses the tables of a server: their rows, their names, and those of tables that do not exist. */
const PROJECT: Files = {
  ...endpoint("row", "SELECT name FROM db.t WHERE id = {{params.id}}", `with-pagination: false\n${ID}`),
  ...endpoint("page", "SELECT id, name FROM db.t ORDER BY id", "with-pagination: true\n"),
  ...endpoint("stream", "SELECT a.id, b.name FROM db.t a JOIN db.t b USING (id)"),
  ...endpoint("columns", "SELECT count(*)::INT AS n FROM duckdb_columns()"),
  ...endpoint("views", "SELECT count(*)::INT AS n FROM duckdb_views()"),
  ...endpoint("tables", "SELECT count(*)::INT AS n FROM information_schema.tables"),
  ...endpoint("write", "UPDATE db.t SET name = 'changed' WHERE id = {{params.id}}", `method: POST\n${ID}`),
  ...endpoint("changing", "SELECT * FROM db.changing"),
  ...endpoint("local", "SELECT 1 AS a"),
  // The table does not exist. Because another template could create it, that is no error at startup.
  ...endpoint("create", "CREATE TABLE missing (id INT)", "method: POST\n"),
  ...endpoint("missing", "SELECT id FROM missing"),
};

const CALLS: readonly (readonly [path: string, status: number, method?: string])[] = [
  ["/row?id=7", 200],
  ["/page?limit=10", 200],
  ["/stream?format=ndjson", 200],
  ["/columns", 200],
  ["/views", 200],
  ["/tables", 200],
  ["/write?id=3", 200, "POST"],
  ["/local", 200],
  ["/missing", 500],
];

/** Changes a table and reloads, often. Each reload makes DuckDB read the tables again. */
async function changeAndReload(program: Program, source: Source): Promise<void> {
  const url = await program.url();
  const reloads = (): number => program.stderr().split("reloaded: ").length - 1;
  while (reloads() < RELOADS && !program.hasExited()) {
    const [change, rows] =
      reloads() % 2 === 0 ? ["ADD COLUMN extra INT", '[{"id":1,"extra":null}]'] : ["DROP COLUMN extra", '[{"id":1}]'];
    await source.sql(`ALTER TABLE changing ${change}`);
    const before = reloads();
    program.signal("SIGHUP");
    await until("the reload", () => program.hasExited() || reloads() > before);
    // On a busy machine, queries may run for longer than a reload waits for them.
    await until("the change", async () => program.hasExited() || (await bodyOf(`${url}/changing`)) === rows);
  }
}

async function bodyOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

describe.each([
  ["postgres", missingPostgres, postgresSource],
  ["mysql", missingMariaDb, mariaDbSource],
] as const)("%s", (type, missing, openSource) => {
  testNeeding(missing, missingExtensions(`${type}_scanner`))(
    "its tables are read again under load: no call fails, and the process goes on",
    async () => {
      const source = await openSource();
      await using program = await start({
        "eider.yaml": `http-port: 0
duckdb: { extension_directory: '${extensionDirectory(`${type}_scanner`)}' }
connections: { db: { type: ${type}, dsn: ${JSON.stringify(source.dsn)} } }
`,
        ...PROJECT,
      });
      const url = await program.url();
      const unexpected = new Set<string>();
      let calls = 0;
      let isOver = false;
      const client = async ([path, expected, method = "GET"]: (typeof CALLS)[number]): Promise<void> => {
        while (!isOver && !program.hasExited()) {
          const response = await fetch(url + path, { method });
          const text = await response.text();
          if (response.status !== expected) unexpected.add(`${path}: ${response.status} ${text.slice(-300)}`);
          calls++;
        }
      };
      const clients = Promise.allSettled(CALLS.flatMap((call) => Array.from({ length: CLIENTS }, () => client(call))));
      await changeAndReload(program, source);
      isOver = true;
      const failed = (await clients).flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
      expect([program.hasExited(), failed, [...unexpected]]).toEqual([false, [], []]);
      expect(calls).toBeGreaterThan(RELOADS);
    },
  );
});
