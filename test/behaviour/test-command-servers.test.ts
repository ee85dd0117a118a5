import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type Files, folderWith, runHere } from "../process/program.ts";

/** `eider test` never changes a server, whatever the template does. */

const postgres = sharedPostgres();
const mariaDb = sharedMariaDb();

interface Server {
  readonly name: string;
  readonly missing: string | undefined;
  readonly extension: string;
  /** A new database with a table `t` of one row: its connection, as options and as ATTACH, and the rows of `t`. */
  open(): Promise<{ options: string; attach: string; rows: () => Promise<string> }>;
}

const TABLE = "CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)";

const servers: readonly Server[] = [
  {
    name: "postgres",
    missing: missingPostgres ?? missingExtensions("postgres_scanner"),
    extension: "postgres_scanner",
    async open() {
      const server = await postgres();
      const dsn = await server.createDatabase();
      const database = /dbname=(\S+)/.exec(dsn)?.[1] ?? "";
      await server.sql(database, TABLE);
      await server.sql(
        database,
        "CREATE FUNCTION wipe() RETURNS INTEGER AS $$ DELETE FROM t RETURNING id $$ LANGUAGE sql",
      );
      return {
        options: `type: postgres, dsn: ${JSON.stringify(dsn)}`,
        attach: `LOAD postgres; ATTACH '${dsn.replaceAll("'", "''")}' AS store (TYPE postgres)`,
        rows: () => server.sql(database, "SELECT id FROM t"),
      };
    },
  },
  {
    name: "mysql",
    missing: missingMariaDb ?? missingExtensions("mysql_scanner"),
    extension: "mysql_scanner",
    async open() {
      const server = await mariaDb();
      const database = await server.createDatabase();
      await server.sql(database, TABLE);
      await server.sql(
        database,
        "DELIMITER //\nCREATE FUNCTION wipe() RETURNS INTEGER BEGIN DELETE FROM t; RETURN 1; END //",
      );
      return {
        options: `type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database}`,
        attach: `LOAD mysql; ATTACH 'host=127.0.0.1 port=${server.port} user=root database=${database}' AS store (TYPE mysql)`,
        rows: () => server.sql(database, "SELECT id FROM t"),
      };
    },
  },
];

const endpoint = (name: string, sql: string, yaml = ""): Files => ({
  [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: store\n${yaml}`,
  [`${name}.sql`]: sql,
});

describe.each(servers)("$name", ({ name, missing, extension, open }) => {
  const needsServer = testNeeding(missing);
  const TESTS = (path: string, expected: string): string =>
    `endpoint: ${path}\ntests:\n  - name: a\n    expect: { ${expected} }\n`;

  for (const form of ["options", "attach"] as const) {
    needsServer(`a server that is attached by ${form} is read, and never changed`, async () => {
      const { rows, ...connection } = await open();
      const store = form === "options" ? connection.options : `init: ${JSON.stringify(connection.attach)}`;
      const result = await runHere(
        {
          "eider.yaml":
            `duckdb: { extension_directory: '${extensionDirectory(extension)}' }\n` +
            `connections:\n  store: { ${store} }\n`,
          ...endpoint("read", "SELECT id FROM store.t"),
          ...endpoint("insert", "INSERT INTO store.t VALUES (2)", "method: POST\n"),
          ...endpoint("query", `FROM ${name}_query('store', 'SELECT wipe() AS n')`),
          ...endpoint("execute", `CALL ${name}_execute('store', 'DELETE FROM t')`, "method: POST\n"),
          "1.test.yaml": TESTS("/read", "rows: 1, first-row: { id: 1 }"),
          "2.test.yaml": TESTS("/insert", "status: 500"),
          "3.test.yaml": TESTS("/query", "status: 500"),
          "4.test.yaml": TESTS("/execute", "status: 500"),
          "5.test.yaml": `endpoint: /read\ntests:\n  - name: a\n    setup: DELETE FROM store.t\n    expect: { rows: 0 }\n`,
        },
        { args: ["test"] },
      );
      expect(await rows()).toBe("1");
      expect(result.stdout).toContain("ok 1.test.yaml (1 of 1 passed)\n");
      const reason = "'store' cannot be copied, so tests attach it READ_ONLY";
      const notRun = "was not run, because tests must not change the data itself: it";
      expect(result.stdout.match(/^ .*: (?:request|setup): .*$/gm)).toEqual([
        `    2.test.yaml:3:5: request: POST /insert ${notRun} writes to 'store', which cannot be copied, so tests attach it READ_ONLY`,
        name === "mysql"
          ? `    3.test.yaml:3:5: request: GET /query ${notRun} calls mysql_query, which can change a server that is attached READ_ONLY`
          : `    3.test.yaml:3:5: request: ${reason}, and this writes to it`,
        `    4.test.yaml:3:5: request: POST /execute ${notRun} calls ${name}_execute, which changes a server`,
        `    5.test.yaml:4:12: setup: ${reason}, and this writes to it`,
      ]);
      expect(result.stdout).toContain("\n1 passed, 4 failed\n");
      expect(result.code).toBe(1);
    });
  }
});

testNeeding(missingExtensions("sqlite_scanner"))("an SQLite file is copied, with its journal", async () => {
  await using folder = await folderWith({
    "eider.yaml":
      `duckdb: { extension_directory: '${extensionDirectory("sqlite_scanner")}' }\n` +
      "connections:\n  store: { type: sqlite, path: ./store.sqlite }\n  maker: { init: \"ATTACH IF NOT EXISTS 'store.sqlite' AS made (TYPE sqlite)\" }\n",
    ...endpoint("insert", "INSERT INTO store.t VALUES (2)", "method: POST\n"),
    "insert.test.yaml": `endpoint: /insert\ntests:\n${[1, 2]
      .map((n) => `  - name: adds ${n}\n    expect: { body: { rows_affected: 1 } }\n`)
      .join("")}`,
  });
  const file = join(folder.path, "store.sqlite");
  await makeSqlite(file);
  const before = await hashOf(file);
  const { code, stdout } = await runHere({}, { args: ["test"], cwd: folder.path });
  expect([code, stdout]).toEqual([0, expect.stringContaining("\n2 passed, 0 failed\n")]);
  expect(await hashOf(file)).toBe(before);
});

async function makeSqlite(file: string): Promise<void> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:", {
    extension_directory: extensionDirectory("sqlite_scanner"),
  });
  const connection = await instance.connect();
  await connection.run(`LOAD sqlite; ATTACH '${file}' AS made (TYPE sqlite); CREATE TABLE made.t (id INTEGER)`);
  connection.closeSync();
  instance.closeSync();
}

async function hashOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
