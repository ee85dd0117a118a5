import { expect, test } from "vitest";
import { duckdbDialect } from "../engines/duckdb/dialect.ts";
import { effectsOf } from "./classify.ts";
import { privilegedActions, settingsChangedBy } from "./privileged-actions.ts";

const reaches = (sql: string): string =>
  privilegedActions(sql, duckdbDialect)
    .map(({ permission: power, what, at }) => `${power} ${what}@${at}`)
    .join(", ");

test.each([
  ["ATTACH 'x.duckdb' AS x", "attach ATTACH@0"],
  ["  /* why */ detach x", "attach DETACH@12"],
  ["COPY t TO 'x.csv'", "copy COPY@0"],
  ["COPY FROM DATABASE a TO b", "copy COPY@0"],
  ["EXPORT DATABASE 'x'", "copy EXPORT@0"],
  ["IMPORT DATABASE 'x'", "copy IMPORT@0"],
  ["INSTALL httpfs", "install INSTALL@0"],
  ["FORCE INSTALL httpfs", "install FORCE INSTALL@0"],
  ["UPDATE EXTENSIONS (httpfs)", "install UPDATE EXTENSIONS@0"],
  ["LOAD httpfs", "load LOAD@0"],
  ["SET threads = 1", "set SET@0"],
  ["SET GLOBAL threads TO 1", "set SET@0"],
  ["RESET threads", "set RESET@0"],
  ["USE other", "set USE@0"],
  ["PRAGMA threads = 1", "set PRAGMA@0"],
  ["PRAGMA enable_profiling", "set PRAGMA@0"],
  ["PRAGMA import_database('x')", "copy PRAGMA@0"],
  ["CHECKPOINT", "checkpoint CHECKPOINT@0"],
  ["FORCE CHECKPOINT t", "checkpoint FORCE CHECKPOINT@0"],
  ["CREATE SECRET s (TYPE s3)", "secret CREATE SECRET@0"],
  ["CREATE OR REPLACE TEMPORARY SECRET (TYPE s3)", "secret CREATE SECRET@0"],
  ["DROP PERSISTENT SECRET s", "secret DROP SECRET@0"],
  ["CALL enable_logging()", "set enable_logging@5"],
  ["SELECT * FROM force_checkpoint()", "checkpoint force_checkpoint@14"],
  ["FROM t, system.main.checkpoint()", "checkpoint checkpoint@20"],
  ["CALL sqlite_attach('x.db')", "attach sqlite_attach@5"],
  ["SELECT getenv('HOME')", "environment getenv@7"],
  ["SELECT * FROM t WHERE x = (SELECT \"GetEnv\" ('HOME'))", "environment getenv@34"],
  ["SELECT 'HOME'.getenv()", "environment getenv@14"],
  ["EXPLAIN ANALYZE COPY t TO 'x'", "copy COPY@16"],
  ["EXPLAIN (FORMAT json, ANALYZE) COPY t TO 'x'", "copy COPY@31"],
  ["PREPARE p AS COPY t TO 'x'", "copy COPY@13"],
])("%s reaches %s", (sql, expected) => {
  expect(reaches(sql)).toBe(expected);
});

test.each([
  "SELECT 1",
  "SET VARIABLE threads = 1",
  "RESET VARIABLE threads",
  "PRAGMA table_info('t')",
  "PRAGMA database_list",
  "CALL pragma_version()",
  "EXPLAIN COPY t TO 'x'",
  "SELECT 'COPY t TO x; getenv(1)' -- ATTACH\n/* LOAD x */",
  'SELECT "copy", attach, getenv FROM load',
  "INSERT INTO checkpoint (id) VALUES (1)",
  "INSERT INTO main.checkpoint(id) SELECT 1",
  "UPDATE extensions SET version = 1",
  "UPDATE t SET x = 1",
  "CREATE TABLE secret (id INTEGER)",
  "DROP TABLE secret",
  "SELECT * FROM checkpoint",
  "(SELECT 1) UNION (SELECT 2)",
  "SHOW TABLES",
  "DESCRIBE t",
])("%s reaches nothing", (sql) => {
  expect(reaches(sql)).toBe("");
});

test.each([
  ["EXPLAIN (ANALYZE) DELETE FROM t", "DELETE"],
  ["EXPLAIN ANALYSE DELETE FROM t", "DELETE"],
  ["EXPLAIN (FORMAT json) DELETE FROM t", undefined],
  ["SELECT * FROM postgres_execute('db', 'DELETE FROM t')", "POSTGRES_EXECUTE"],
  ["CALL mysql_execute('db', 'DELETE FROM t')", "MYSQL_EXECUTE"],
  ["CREATE TEMPORARY SECRET s (TYPE s3)", "CREATE"],
  ["CREATE TEMP TABLE s (x INTEGER)", undefined],
  ["RESET VARIABLE x", undefined],
])("%s changes something by %s", (sql, verb) => {
  const [effect] = effectsOf([sql], duckdbDialect);
  expect(effect?.kind === "changes" ? effect.verb : undefined).toBe(verb);
});

test("the settings that a text names", () => {
  const text = `
    SET threads = 1; SET GLOBAL "TimeZone" = 'UTC'; SET SESSION TIME ZONE 'UTC'; reset memory_limit;
    PRAGMA enable_progress_bar; SET VARIABLE x = 1; UPDATE t SET y = 1; SELECT 'SET z = 1' -- SET w = 1
    ; {{#params.a}}SET search_path = '{{{params.a}}}'{{/params.a}}`;
  expect(settingsChangedBy(text, duckdbDialect)).toEqual([
    "threads",
    "timezone",
    "memory_limit",
    "enable_progress_bar",
    "search_path",
  ]);
});
