import { expect, test } from "vitest";
import { secretStatements } from "./secret-statements.ts";

test.each([
  ["INSTALL httpfs; load httpfs; FORCE INSTALL aws", ["INSTALL httpfs", "load httpfs", "FORCE INSTALL aws"]],
  ["-- first\nSET s3_region = 'x'; RESET s3_url_style", ["SET s3_region = 'x'", "RESET s3_url_style"]],
  ["CREATE SECRET s (TYPE s3, KEY_ID 'a;b')", ["CREATE SECRET s (TYPE s3, KEY_ID 'a;b')"]],
  ["create or replace temporary secret s (TYPE s3)", ["create or replace TEMPORARY secret s (TYPE s3)"]],
  ["CREATE /* keep */ PERSISTENT SECRET s (TYPE s3)", ["CREATE /* keep */ TEMPORARY SECRET s (TYPE s3)"]],
  [
    "CREATE OR REPLACE PERSISTENT SECRET IF NOT EXISTS s (TYPE s3)",
    ["CREATE OR REPLACE TEMPORARY SECRET IF NOT EXISTS s (TYPE s3)"],
  ],
  ["CALL load_aws_credentials('me')", ["CALL load_aws_credentials('me')"]],
  ["ATTACH 'x.db' AS x; CREATE TABLE secret (n INT); INSERT INTO t SELECT 1; USE x; DROP SECRET s; CALL other()", []],
  ["CREATE TABLE t AS SELECT 'CREATE SECRET s'; COPY t TO 'x.csv'", []],
])("%s", (init, expected) => {
  expect(secretStatements(init).map(({ sql }) => sql.replace(/^\s*(?:--.*\n)?/, ""))).toEqual(expected);
});
