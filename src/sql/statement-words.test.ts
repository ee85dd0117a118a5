import { expect, test } from "vitest";
import { duckdbDialect } from "../engines/duckdb/dialect.ts";
import { createdNames } from "./statement-words.ts";

test.each([
  ["CREATE TABLE orders (id INTEGER)", ["orders"]],
  ["create or replace table if not exists a.b.Orders AS SELECT 1", ["orders"]],
  ["CREATE VIEW main.\"My Orders\" AS SELECT 1; CREATE TYPE mood AS ENUM ('a')", ["my orders", "mood"]],
  ["INSTALL sqlite; -- CREATE TABLE no\nCREATE MACRO twice(x) AS 2 * x", ["twice"]],
  ["SELECT 'CREATE TABLE no (a INTEGER)'", []],
  ["CREATE TEMP TABLE no AS SELECT 1; CREATE OR REPLACE SECRET no (TYPE s3)", []],
  ["CREATE UNIQUE INDEX no ON orders (id)", []],
  ["CREATE TABLE", []],
])("%s creates %j", (sql, names) => {
  expect(createdNames(sql, duckdbDialect)).toEqual(names);
});
