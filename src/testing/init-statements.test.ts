import { expect, test } from "vitest";
import { isolateSql, setupProblem, unsafeReason } from "./init-statements.ts";

const copyOf = async (path: string): Promise<string> => `/copies/${path}`;

test.each([
  ["ATTACH 'shop.db'", "ATTACH '/copies/shop.db'", false],
  [
    "attach database if not exists 'it''s.db' AS x (TYPE duckdb)",
    "attach database if not exists '/copies/it''s.db' AS x (TYPE duckdb)",
    false,
  ],
  ["/* 'x' */ ATTACH 'a.sqlite' AS a (TYPE SQLITE)", "/* 'x' */ ATTACH '/copies/a.sqlite' AS a (TYPE SQLITE)", false],
  ["ATTACH 'shop.db' (READ_ONLY)", "ATTACH 'shop.db' (READ_ONLY)", false],
  ["ATTACH 'shop.db' AS a (READ_ONLY true, TYPE duckdb)", "ATTACH 'shop.db' AS a (READ_ONLY true, TYPE duckdb)", false],
  ["ATTACH ':memory:' AS m", "ATTACH ':memory:' AS m", false],
  ["ATTACH 'host=x' AS crm (TYPE postgres)", "ATTACH 'host=x' AS crm (READ_ONLY, TYPE postgres)", true],
  ["ATTACH 'host=(x' AS \"a (b\" (TYPE mysql)", "ATTACH 'host=(x' AS \"a (b\" (READ_ONLY, TYPE mysql)", true],
  ["ATTACH 'ducklake:lake.db' -- all of it", "ATTACH 'ducklake:lake.db' -- all of it\n(READ_ONLY)", true],
  ["SELECT 'ATTACH ''x.db''';\nUSE shop", "SELECT 'ATTACH ''x.db''';\n\nUSE shop", false],
])("%s becomes %s", async (sql, expected, isProtected) => {
  const isolated = await isolateSql(sql, copyOf);
  expect(isolated).toEqual({ sql: expected, isProtected });
  expect(unsafeReason(isolated.sql, (path) => path.startsWith("/copies/"))).toBeUndefined();
});

test.each([
  "ATTACH 'md:'",
  "ATTACH $$shop.db$$ AS shop",
  "ATTACH 'shop.db' (READ_ONLY false)",
  "PREPARE p AS ATTACH 'shop.db'",
  "EXPLAIN ANALYZE ATTACH 'shop.db'",
  "COPY t TO 'x.csv'",
  "EXPORT DATABASE 'x'",
  "SELECT 1; CREATE OR REPLACE PERSISTENT SECRET s (TYPE http)",
  "CALL mysql_execute('crm', 'DELETE FROM t')",
  "CREATE VIEW v AS FROM mysql_query('crm', 'SELECT f()')",
])("%s is unsafe", (sql) => {
  expect(unsafeReason(sql, () => false)).toEqual(expect.any(String));
});

test.each([
  "COPY t FROM 'x.csv'",
  "INSTALL x; LOAD x; SET threads = 1",
  "CREATE SECRET s (TYPE http)",
  "CREATE TABLE t (i INT)",
])("%s is safe in an init", (sql) => {
  expect(unsafeReason(sql, () => false)).toBeUndefined();
});

test.each([
  ["INSERT INTO t VALUES (1); DELETE FROM u; CREATE TABLE v AS SELECT 1", undefined],
  ["ATTACH 'x.db'", "'ATTACH' reaches beyond the copy of the data"],
  ["INSERT INTO t VALUES (1); COPY t TO 'x.csv'", "'COPY' reaches beyond the copy of the data"],
  ["SET threads = 1", "'SET' reaches beyond the copy of the data"],
  ["CALL postgres_execute('crm', 'DELETE FROM t')", "it calls postgres_execute, which changes a server"],
  [
    "INSERT INTO t FROM mysql_query('crm', 'SELECT f()')",
    "it calls mysql_query, which can change a server that is attached READ_ONLY",
  ],
])("the setup %s", (sql, what) => {
  const expected = what && `${what}; a setup may only change data`;
  expect(setupProblem(sql)).toBe(expected);
});
