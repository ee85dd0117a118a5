import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import type { ConnectionOptions, ConnectionType } from "../../connection-type.ts";
import { connectionTypes } from "./index.ts";

function expandConnection(type: string, options: ConnectionOptions, context: Parameters<ConnectionType["expand"]>[1]) {
  return connectionTypes.find((known) => known.type === type)?.expand(options, context);
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider's-connections-"));
});
afterAll(() => rm(folder, { recursive: true }));

const quoted = (path: string): string => path.replaceAll("'", "''");

test("a DuckDB file is attached under the connection's name, read-only when it says so", async () => {
  const path = join(folder, "shop.db");
  const context = { name: 'my "shop"', readOnly: true };
  const init = expandConnection("duckdb", { path }, context);
  await using t = await testEngine(`ATTACH '${quoted(path)}' AS w; CREATE TABLE w.x AS SELECT 1 AS n; DETACH w`, {
    connections: [{ name: context.name, init, secrets: [] }],
  });
  const connections = [context.name];
  expect((await t.read({ connections, statements: 'FROM "my ""shop""".x' })).rows).toEqual([[1]]);
  const { failure } = await failureOf(t.read({ connections, statements: 'INSERT INTO "my ""shop""".x VALUES (2)' }));
  expect(failure).toMatchObject({ kind: "query-failed", message: expect.stringContaining("read-only") });
});

test.each([
  ["parquet", {}, ""],
  ["csv", { delimiter: ";", header: "true" }, "(DELIMITER ';')"],
  ["json", {}, ""],
])("%s files are a view with the connection's name", async (type, options, copyOptions) => {
  const path = join(folder, `data.${type}`);
  const init = expandConnection(type, { path, ...options }, { name: "sales", readOnly: false });
  await using t = await testEngine(`COPY (SELECT 1 AS a, 'x' AS b) TO '${quoted(path)}' ${copyOptions}`, {
    connections: [{ name: "sales", init, secrets: [] }],
  });
  const answer = await t.read({ connections: ["sales"], statements: "SELECT b, a::VARCHAR FROM sales" });
  expect(answer.rows).toEqual([["x", "1"]]);
});

test.each([
  ["csv", "7;x\n", { delimiter: ";", header: "false", "auto-detect": "false" }],
  ["json", '{"a.b":7,"it\'s":"x","left out":1}', {}],
])("the columns of %s files are as declared", async (type, text, options) => {
  const path = join(folder, `declared.${type}`);
  await writeFile(path, text);
  const declared = { "columns.a.b": "VARCHAR", "columns.it's": "VARCHAR" };
  const init = expandConnection(type, { path, ...options, ...declared }, { name: "sales", readOnly: false });
  await using t = await testEngine("SELECT 1", { connections: [{ name: "sales", init, secrets: [] }] });
  const { columns, rows } = await t.read({ connections: ["sales"], statements: "FROM sales" });
  expect(columns).toEqual(["a.b", "it's"]);
  expect(rows).toEqual([["7", "x"]]);
});

test.each(connectionTypes.map((type) => ({ type })))(
  "$type.type becomes SQL that parses, whatever the options hold",
  async ({ type }) => {
    await using t = await testEngine();
    const options = Object.fromEntries(type.options.map((name) => [name, `it's "${name}"; --`]));
    for (const given of [options, { ...options, dsn: undefined, "key-id": undefined }]) {
      const sql = type.expand(given, { name: `o'"n`, readOnly: true });
      expect(await t.engine.parse(sql)).toBeUndefined();
      expect(sql).not.toMatch(/;\s*$/);
    }
  },
);

test.each([
  ["host=h", "host=h keepalives_idle=10 keepalives_interval=5 keepalives_count=2 tcp_user_timeout=20000"],
  [
    "postgres://h/d",
    "postgres://h/d?keepalives_idle=10&keepalives_interval=5&keepalives_count=2&tcp_user_timeout=20000",
  ],
  [
    "postgresql://h/d?sslmode=require",
    "postgresql://h/d?sslmode=require&keepalives_idle=10&keepalives_interval=5&keepalives_count=2&tcp_user_timeout=20000",
  ],
  ["host=h keepalives=0", "host=h keepalives=0"],
  ["host=h tcp_user_timeout=5000", "host=h tcp_user_timeout=5000"],
])("Postgres at %s: limits for a silent network, unless the connection string has its own", (dsn, address) => {
  expect(expandConnection("postgres", { dsn }, { name: "db", readOnly: false })).toContain(
    `ATTACH IF NOT EXISTS '${address}' AS`,
  );
});

test("a missing extension is reported", async () => {
  const init = expandConnection(
    "postgres",
    { host: "localhost", password: "pw-4711" },
    { name: "pg", readOnly: false },
  );
  await using t = await testEngine(
    "SET GLOBAL extension_directory = '/nowhere'; SET GLOBAL custom_extension_repository = '/nowhere'",
    {
      connections: [{ name: "pg", init, secrets: ["pw-4711"] }],
    },
  );
  const failed = await failureOf(t.engine.openConnection("pg"));
  expect(failed.failure).toEqual({ kind: "connection-down", connection: "pg" });
  expect(failed.cause).toEqual(
    new Error(
      "the extension 'postgres_scanner' is not in /nowhere (duckdb.extension_directory) and was not downloaded; put it there",
    ),
  );
});
