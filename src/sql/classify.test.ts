import { describe, expect, test } from "vitest";
import { duckdbDialect } from "../engines/duckdb/dialect.ts";
import { changedName, insertedRows } from "./classify.ts";

describe("how many rows an INSERT inserts when it succeeds", () => {
  test.each([
    ["INSERT INTO t VALUES (1)", 1],
    ["insert into t values ($1, 'a, (b)'), ((2), now()), (3, (SELECT 1))", 3],
    ['INSERT INTO a."b (c)".t (x, "values") VALUES ($1, $2)', 1],
    ["INSERT INTO t VALUES (1) -- (2)", 1],
    ["INSERT INTO t SELECT 1", undefined],
    ["INSERT INTO t FROM (VALUES (1))", undefined],
    ["INSERT INTO t VALUES (1) RETURNING x", undefined],
    ["INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", undefined],
    ["INSERT OR IGNORE INTO t VALUES (1)", undefined],
    ["WITH x AS (SELECT 1) INSERT INTO t VALUES (1)", undefined],
    ["UPDATE t SET x = 1", undefined],
    ["DELETE FROM t", undefined],
    ["SELECT * FROM (VALUES (1))", undefined],
  ])("%s", (sql, rows) => {
    expect(insertedRows(sql, duckdbDialect)).toBe(rows);
  });
});

describe("the name of what a statement changes", () => {
  test.each([
    ["INSERT INTO a.b.t VALUES (1)", ["a", "b", "t"]],
    ['WITH x AS (SELECT 1) UPDATE "A"."T" SET x = 1', ["a", "t"]],
    ["CREATE UNIQUE INDEX i ON a.t (x)", ["a", "t"]],
    ["CREATE OR REPLACE TABLE a.t AS SELECT 1 AS on_time", ["a", "t"]],
    ["COPY a.t FROM 'x.csv'", ["a", "t"]],
    ["COPY a.t TO 'x.csv'", undefined],
    ["COPY (SELECT 1) TO 'x.csv'", undefined],
    ["COPY FROM DATABASE a TO b", undefined],
    ["SELECT 1", undefined],
  ])("%s", (sql, name) => {
    expect(changedName(sql, duckdbDialect)).toEqual(name);
  });
});
