import { rename } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres, type TestPostgres } from "../postgres.ts";
import { type Files, folderWith, type Program, start } from "../process/program.ts";
import { until } from "../until.ts";

const postgres = sharedPostgres();
const needsPostgres = testNeeding(missingPostgres, missingExtensions("postgres_scanner"));

function read(name: string, sql: string, connection = "pg"): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [${connection}]\nwith-pagination: false\n`,
    [`${name}.sql`]: sql,
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

async function ask(url: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(url + path, init);
  const body: unknown = await answer.json();
  return { status: answer.status, body, retryAfter: answer.headers.get("retry-after") };
}

interface Served {
  readonly server: TestPostgres;
  readonly database: string;
  readonly program: Program;
}

/** The program over a Postgres of its own, whose table `t` has the rows 1 to 3. */
async function served(): Promise<Served> {
  const server = await postgres();
  const database = await server.createDatabase();
  await server.sql(database, "CREATE TABLE t AS SELECT generate_series(1, 3) AS id");
  const program = await start({
    "eider.yaml": `http-port: 0
limits: { query-timeout: 1s, max-concurrent-queries: 4 }
duckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }
connections:
  pg: { type: postgres, dsn: ${JSON.stringify(database)} }
  memory: {}
`,
    ...read("t", "SELECT id FROM pg.t ORDER BY id"),
    ...read("sleep", "SELECT * FROM postgres_query('pg', 'SELECT 1 AS a FROM pg_sleep(600)')"),
    // Each chunk of rows takes a while: the answer has begun when the source becomes slow.
    ...read(
      "drip",
      "SELECT * FROM postgres_query('pg', 'SELECT i, CASE WHEN i > 100000 THEN pg_sleep(0.05)::text ELSE repeat(''x'', 20) END AS s FROM generate_series(1, 100120) i')",
    ),
    ...read("local", "SELECT 1 AS a", "memory"),
    "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [pg]\n",
    "add.sql": "INSERT INTO pg.t VALUES (99)",
  });
  return { server, database, program };
}

const ROWS = [{ id: 1 }, { id: 2 }, { id: 3 }];
const DOWN = { error: "Service Unavailable: connection 'pg' cannot be reached" };
const SLOW = { error: "Gateway Timeout: the query took too long" };
const rowsAgain = (url: string): Promise<Answer> =>
  until("rows", async () => {
    const answer = await ask(url, "/t");
    return answer.status === 200 && answer;
  });

needsPostgres(
  "a database that is killed and comes back: 503, degraded, and all is well without a restart",
  async () => {
    const { server, program } = await served();
    await using _ = program;
    const url = await program.url();
    expect((await ask(url, "/t")).body).toEqual(ROWS);
    expect((await ask(url, "/health/ready")).body).toEqual({ status: "ok" });
    for (const round of [1, 2]) {
      await server.kill();
      // Connections that were open are found dead, new ones are refused.
      for (let times = 0; times < 4; times++) {
        expect(await ask(url, "/t")).toMatchObject({ status: 503, body: DOWN, retryAfter: "1" });
      }
      expect(await ask(url, "/add", { method: "POST" })).toMatchObject({ status: 503, body: DOWN, retryAfter: "1" });
      expect(await ask(url, "/health/ready")).toMatchObject({
        status: 200,
        body: { status: "degraded", connections: ["pg"] },
      });
      expect((await ask(url, "/local")).body).toEqual([{ a: 1 }]);
      await server.restart();
      expect((await rowsAgain(url)).body).toEqual(ROWS);
      expect((await ask(url, "/health/ready")).body).toEqual({ status: "ok" });
      expect(program.stderr().split("is back").length - 1).toBe(round);
    }
    expect(program.stderr()).not.toContain('"level":"error"');
    // The log has the reason, but not the password.
    expect(program.stderr()).toMatch(/connection 'pg' cannot be reached: .*(?:refused|closed)/);
    expect(program.stderr()).not.toContain("geheim");
  },
);

needsPostgres("a database that is down at the start is used as soon as it is there", async () => {
  const server = await postgres();
  const database = await server.createDatabase();
  await server.sql(database, "CREATE TABLE t AS SELECT 5 AS id");
  await server.kill();
  await using program = await start({
    "eider.yaml": `http-port: 0\nduckdb: { extension_directory: '${extensionDirectory("postgres_scanner")}' }\nconnections:\n  pg: { type: postgres, dsn: ${JSON.stringify(database)} }\n`,
    ...read("t", "SELECT id FROM pg.t"),
  });
  const url = await program.url();
  expect(await ask(url, "/t")).toMatchObject({ status: 503, body: DOWN, retryAfter: "1" });
  expect((await ask(url, "/health/ready")).body).toEqual({ status: "degraded", connections: ["pg"] });
  await server.restart();
  // Nobody has to ask for the rows: asking for the health is enough.
  await until("health", async () => (await (await fetch(`${url}/health/ready`)).text()) === '{"status":"ok"}');
  expect((await ask(url, "/t")).body).toEqual([{ id: 5 }]);
});

needsPostgres("a database that is slow: 504 in time although it cannot be interrupted, and others go on", async () => {
  const { server, database, program } = await served();
  await using _ = program;
  const url = await program.url();
  expect((await ask(url, "/t")).status).toBe(200);
  const slow = await Promise.all([ask(url, "/sleep"), ask(url, "/sleep?x=2"), ask(url, "/t"), ask(url, "/local")]);
  expect(slow.map(({ status }) => status)).toEqual([504, 504, 200, 200]);
  expect(slow[0]?.body).toEqual(SLOW);
  // The source itself is still at work.
  const sleepers =
    "FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()";
  expect(await server.sql(database, `SELECT count(*) > 0 ${sleepers}`)).toBe("t");
  await server.sql(database, `SELECT pg_cancel_backend(pid) ${sleepers}`);
  expect((await ask(url, "/t")).body).toEqual(ROWS);
  // A table that somebody else has locked: the row that could not be written in time is not written later.
  const lock = server.sql(database, "BEGIN; LOCK TABLE t IN EXCLUSIVE MODE; SELECT pg_sleep(4); COMMIT");
  await until(
    "the lock",
    async () =>
      (await server.sql(
        database,
        "SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND granted AND relation = 't'::regclass",
      )) === "1",
  );
  const stuck = await ask(url, "/add", { method: "POST" });
  expect(stuck).toMatchObject({ status: 504, body: SLOW });
  expect((await ask(url, "/local")).status).toBe(200);
  await lock;
  expect((await rowsAgain(url)).body).toEqual(ROWS);
  await until(
    "every session of the source at rest",
    async () =>
      (await server.sql(
        database,
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query NOT LIKE '%pg_stat_activity%' AND backend_type = 'client backend'",
      )) === "0",
  );
  expect((await ask(url, "/t")).body).toEqual(ROWS);
  // A stream that has begun is cut, not closed as if it were complete.
  const drip = await fetch(`${url}/drip`);
  expect(drip.status).toBe(200);
  await expect(drip.text()).rejects.toThrow();
  expect((await ask(url, "/t")).body).toEqual(ROWS);
  // A query that still hangs in the source does not hold a process that is told to stop.
  program.signal("SIGTERM");
  await program.exited;
  expect(program.stderr()).not.toContain('"level":"error"');
});

const needsSqlite = testNeeding(missingExtensions("sqlite_scanner"));

needsSqlite("a SQLite file that vanishes and comes back", async () => {
  await using folder = await folderWith({});
  const [path, away] = [join(folder.path, "lite.db"), join(folder.path, "away.db")];
  const extensions = extensionDirectory("sqlite_scanner");
  const instance = await DuckDBInstance.create(":memory:", { extension_directory: extensions });
  const connection = await instance.connect();
  await connection.run(`LOAD sqlite; ATTACH '${path}' AS lite (TYPE sqlite); CREATE TABLE lite.t AS SELECT 7 AS id`);
  connection.closeSync();
  instance.closeSync();
  await using program = await start({
    "eider.yaml": `http-port: 0\nduckdb: { extension_directory: '${extensions}' }\nconnections:\n  lite: { type: sqlite, path: '${path}', read-only: true }\n`,
    ...read("lite", "SELECT id FROM lite.t", "lite"),
  });
  const url = await program.url();
  expect((await ask(url, "/lite")).body).toEqual([{ id: 7 }]);
  await rename(path, away);
  for (let times = 0; times < 3; times++) expect((await ask(url, "/lite")).status).toBeGreaterThanOrEqual(500);
  await rename(away, path);
  expect((await ask(url, "/lite")).body).toEqual([{ id: 7 }]);
  expect(program.stderr()).not.toContain('"level":"error"');
});

test("a CSV file that vanishes and comes back, with the same rows or others", async () => {
  await using program = await start({
    "eider.yaml": "http-port: 0\nconnections:\n  csv: { type: csv, path: ./data.csv }\n  memory: {}\n",
    "data.csv": "a\n1\n",
    "other.csv": "a\n2\n3\n",
    ...read("csv", "SELECT a FROM csv ORDER BY a", "csv"),
    ...read("local", "SELECT 1 AS a", "memory"),
  });
  const url = await program.url();
  const at = (name: string): string => join(program.folder, name);
  expect((await ask(url, "/csv")).body).toEqual([{ a: 1 }]);
  await rename(at("data.csv"), at("away.csv"));
  const gone = await ask(url, "/csv");
  expect(gone.status).toBeGreaterThanOrEqual(500);
  expect((await ask(url, "/local")).status).toBe(200);
  await rename(at("away.csv"), at("data.csv"));
  expect((await ask(url, "/csv")).body).toEqual([{ a: 1 }]);
  await rename(at("other.csv"), at("data.csv"));
  expect((await ask(url, "/csv")).body).toEqual([{ a: 2 }, { a: 3 }]);
  expect(program.stderr()).not.toContain('"level":"error"');
});
