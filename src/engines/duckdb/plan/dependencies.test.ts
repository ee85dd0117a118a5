import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import duckdb from "@duckdb/node-bindings";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DependencyFinder, dependencyFinder } from "./dependencies.ts";
import { inspect } from "./inspect.ts";

const SETUP = `
  CREATE TABLE t AS SELECT range AS id, 30 AS age, TIMESTAMP '2020-01-01' AS now FROM range(10);
  CREATE TABLE u AS SELECT 1 AS id;
  CREATE SCHEMA "odd.name"; CREATE TABLE "odd.name"."a b" AS SELECT 1 AS id;
  CREATE SEQUENCE numbers;
  CREATE VIEW over_t AS SELECT id FROM t WHERE id > 3;
  CREATE VIEW tickets AS SELECT nextval('numbers') AS ticket;
  CREATE VIEW over_tickets AS SELECT ticket AS nested FROM tickets;
  CREATE VIEW recent AS SELECT id, current_date AS day FROM t;
  CREATE MACRO dice(x) AS x + random();
  CREATE MACRO rows_of(n) AS TABLE SELECT * FROM t WHERE id < n;
  CREATE MACRO drawn() AS TABLE SELECT uuid() AS id;
  ATTACH ':memory:' AS other; CREATE TABLE other.o AS SELECT 1 AS id; CREATE VIEW other.back AS SELECT * FROM memory.t;
  COPY t TO 'FILE';
  PRAGMA disable_optimizer`;

let finder: DependencyFinder;
let connection: duckdb.Connection;
let folder: string;
const withFile = (sql: string): string => sql.replace("FILE", join(folder, "t.parquet"));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  connection = await duckdb.connect(await duckdb.open(":memory:"));
  for (const sql of SETUP.split(";")) await duckdb.query(connection, withFile(sql));
  finder = dependencyFinder({ catalogs: new Set(["memory"]), inspect: (statement) => inspect(connection, statement) });
});
afterAll(async () => {
  duckdb.disconnect_sync(connection);
  await rm(folder, { recursive: true });
});

const own = (...tables: string[]): object => ({ shareable: true, tables: tables });
const shareable = { shareable: true, tables: undefined };
const neither = { shareable: false, tables: undefined };
const BIGINT = { type: "BIGINT", value: 3n } as const;

describe("rows that depend on", () => {
  test.each([
    ["a table", "SELECT * FROM t WHERE id = $1", own("t")],
    ["two tables", "SELECT (SELECT max(id) FROM u), * FROM t WHERE id = $1", own("t", "u")],
    ["a table with an odd name", 'FROM "odd.name"."a b" WHERE id = $1', own("a b")],
    ["a table behind a common table expression of its name", "WITH t AS (FROM t) FROM t WHERE id = $1", own("t")],
    ["a table behind a view", "FROM over_t WHERE id = $1", own("t")],
    ["a table behind a view of another catalog", "FROM other.back WHERE id = $1", own("t")],
    ["a table behind a macro", "FROM rows_of($1)", own("t")],
    ["a table, in a condition that is never true", "FROM t WHERE false AND id = $1", own("t")],
    ["columns named like functions", "SELECT age, now FROM t WHERE id = $1", own("t")],
    ["nothing", "SELECT $1 + 1 AS x", own()],
    ["a function that only refuses", "SELECT CASE WHEN $1 > 5 THEN error('403: no') ELSE 1 END", own()],
    ["a recursion", "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < $1) FROM r", own()],
    ["another database", "FROM other.o WHERE id = $1", shareable],
    ["a file", "FROM 'FILE' WHERE id = $1", shareable],
    ["a file and a table", "SELECT 1 FROM t, read_parquet('FILE') WHERE t.id = $1", shareable],
    ["the day", "SELECT current_date, $1 FROM t", shareable],
    ["the time", "SELECT now(), $1 FROM t", shareable],
    ["the time, by an age", "SELECT age(TIMESTAMP '2020-01-01'), $1", shareable],
    ["the day behind a view", "FROM recent WHERE id = $1", shareable],
    ["chance", "SELECT random(), $1 FROM t", neither],
    ["chance in quotes", 'SELECT "random" (), $1 FROM t', neither],
    ["chance in a lambda", "SELECT list_transform([$1], lambda x: x + random()) AS hidden", neither],
    ["chance behind a macro", "SELECT dice($1) AS hidden", neither],
    ["chance behind a table macro", "SELECT * FROM drawn() WHERE $1 = 3", neither],
    ["a sample", "SELECT id FROM t USING SAMPLE 3 ROWS WHERE id > $1", neither],
    ["a sequence", "SELECT nextval('numbers') AS id, $1", neither],
    ["a sequence behind a view", "SELECT * FROM tickets WHERE ticket > $1", neither],
    ["a sequence behind a view behind a view", "SELECT * FROM over_tickets WHERE nested > $1", neither],
    ["a table that a value names", "SELECT * FROM query_table('t') WHERE id = $1", neither],
    ["SQL in a value", "SELECT * FROM query('FROM t') WHERE id = $1", neither],
    ["a table that is not there", "FROM missing WHERE id = $1", neither],
  ])("%s", async (_, text, expected) => {
    const sql = withFile(text);
    const found = await finder.of({ sql, values: [BIGINT] });
    expect({ ...found, tables: found.tables?.toSorted() }).toEqual(expected);
    expect(finder.known(sql)).toBe(found);
  });

  test("what several statements make of one is not looked into", async () => {
    expect(await finder.of({ sql: "PIVOT t ON id USING count(*)", values: [] })).toEqual(neither);
  });
});

test("names are looked up again when they may have changed", async () => {
  const query = { sql: "SELECT * FROM changing", values: [] };
  await duckdb.query(connection, "CREATE VIEW changing AS SELECT id FROM t");
  finder.forget();
  expect(await finder.of(query)).toEqual(own("t"));
  await duckdb.query(connection, "CREATE OR REPLACE VIEW changing AS SELECT random() AS hidden FROM t");
  finder.forget();
  expect(finder.known(query.sql)).toBeUndefined();
  expect(await finder.of(query)).toEqual(neither);
});
