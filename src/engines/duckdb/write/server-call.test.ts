import { expect, test } from "vitest";
import { callProblem, serverCallIn } from "./server-call.ts";

const ARGUMENTS = "SELECT CAST(('crm'\n) AS VARCHAR), CAST(( $1 || [',', ')'][1]\n) AS VARCHAR)";

test.each([
  ["CALL postgres_execute('crm', $1 || [',', ')'][1])", "postgres", ARGUMENTS],
  ["/* all */ from POSTGRES_EXECUTE('crm', $1 || [',', ')'][1]) -- end", "postgres", ARGUMENTS],
  ["SELECT * FROM \"mysql_execute\"('crm', $1 || [',', ')'][1])", "mysql", ARGUMENTS],
  [
    "CALL mysql_execute('crm', 'x', params := row($1, 2))",
    "mysql",
    "SELECT CAST(('crm'\n) AS VARCHAR), CAST(( 'x'\n) AS VARCHAR), CAST(( row($1, 2)\n) AS VARCHAR)",
  ],
])("a call and its arguments: %s", (sql, server, argumentsSql) => {
  expect(serverCallIn(sql)).toMatchObject({ kind: "call", server, argumentsSql });
});

test.each([
  "SELECT count(*) FROM postgres_execute('crm', 'x')",
  "FROM postgres_execute('crm', 'x') WHERE true",
  "FROM range(2), mysql_execute('crm', 'x')",
  "INSERT INTO t FROM mysql_execute('crm', 'x')",
  "EXPLAIN ANALYZE CALL postgres_execute('crm', 'x')",
])("a call within another statement: %s", (sql) => {
  expect(serverCallIn(sql)).toMatchObject({ kind: "uncountable" });
});

test.each([
  "SELECT 'postgres_execute(1)'",
  "SELECT postgres_execute FROM t",
  "EXPLAIN CALL postgres_execute('crm', 'x')",
])("no call: %s", (sql) => {
  expect(serverCallIn(sql)).toBeUndefined();
});

test.each([
  ["UPDATE t SET v = 1; COMMIT", "COMMIT"],
  ["UPDATE t SET v = 1; rollback work", "ROLLBACK"],
  ["INSERT INTO t VALUES (1); PREPARE TRANSACTION 'x'", "PREPARE"],
  ["DELETE FROM t; END", "END"],
  ["DELETE FROM t; ROLLBACK WORK TO SAVEPOINT a", undefined],
  ["INSERT INTO t VALUES ('; COMMIT'), ($$; COMMIT$$)", undefined],
  ["SELECT 1; COMMIT", undefined],
])("Postgres: %s", (sql, verb) => {
  const problem = callProblem("postgres", ["crm", sql]);
  expect(problem).toBe(
    verb &&
      `postgres_execute must not end the transaction (${verb}); remove it: Eider commits when all statements have run`,
  );
});

test.each([
  ["DELETE FROM t; DELETE FROM u", /runs one statement/],
  ["INSERT INTO t VALUES ('a\\'') ; SELECT 1", /runs one statement/],
  ["REPLACE INTO t VALUES (1) returning id", /RETURNING/],
  ["INSERT INTO t VALUES ('a;b', \"c;\\\";d\", 'e'';f'); -- g; h", undefined],
  ["INSERT INTO `a;b` VALUES (1) /* ; x */ # ; y", undefined],
  ["CREATE PROCEDURE p() BEGIN DELETE FROM t; DELETE FROM u; END", undefined],
  ["UPDATE t SET v = 'RETURNING'", undefined],
])("MySQL: %s", (sql, expected) => {
  const problem = callProblem("mysql", ["crm", sql]);
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(expected);
});
