import { expect, test } from "vitest";
import { duckdbDialect } from "../engines/duckdb/dialect.ts";
import { rowInsertOf } from "./row-insert.ts";

const withTwoRows = (sql: string, values = 2): string | undefined =>
  rowInsertOf(sql, values, duckdbDialect)?.withRows(2);

test.each([
  ["INSERT INTO t VALUES ($1, $2)", "INSERT INTO t VALUES ($1, $2), ($3, $4)"],
  ['insert into a."b (" (x, "y") values ($2, $1)', 'insert into a."b (" (x, "y") values ($2, $1), ($4, $3)'],
  ["INSERT INTO t VALUES ($1, '$9)', $2) -- )", "INSERT INTO t VALUES ($1, '$9)', $2), ($3, '$9)', $4)"],
  ["\nINSERT INTO t VALUES (\n$1, -- (\n$2\n)\n", "\nINSERT INTO t VALUES (\n$1, -- (\n$2\n), (\n$3, -- (\n$4\n)"],
  ["INSERT INTO t VALUES ($1, now(), $2::DATE)", "INSERT INTO t VALUES ($1, now(), $2::DATE), ($3, now(), $4::DATE)"],
  [
    "INSERT INTO t VALUES (CAST($1 AS DECIMAL(10, 2)), [$2, 5], DEFAULT)",
    "INSERT INTO t VALUES (CAST($1 AS DECIMAL(10, 2)), [$2, 5], DEFAULT), (CAST($3 AS DECIMAL(10, 2)), [$4, 5], DEFAULT)",
  ],
  ['INSERT INTO "values" VALUES ($1, $1, $2)', 'INSERT INTO "values" VALUES ($1, $1, $2), ($3, $3, $4)'],
])("%s", (sql, expected) => {
  expect(withTwoRows(sql)).toBe(expected);
});

test.each([
  "INSERT INTO t VALUES ($1), ($2)",
  "INSERT INTO t VALUES ($1, $2) RETURNING a",
  "INSERT INTO t VALUES ($1, $2) ON CONFLICT DO NOTHING",
  "INSERT OR IGNORE INTO t VALUES ($1, $2)",
  "INSERT INTO t BY NAME VALUES ($1, $2)",
  "INSERT INTO t VALUES ($1, $2) LIMIT 1",
  "INSERT INTO t VALUES ($1) UNION ALL VALUES ($2)",
  "INSERT INTO t VALUES ($1, $2) ORDER BY 1",
  "INSERT INTO t VALUES ($1, $2);",
  "INSERT INTO t VALUES ($1, (SELECT max(a) + $2 FROM t))",
  "INSERT INTO t VALUES ($1, (FROM u LIMIT $2))",
  "INSERT INTO t VALUES ($1, error($2))",
  "INSERT INTO t VALUES ($1, CASE WHEN $2 > 5 THEN error('409: full') END)",
  "INSERT INTO t VALUES ($1, mine.now($2))",
  'INSERT INTO t VALUES ($1, "now"($2))',
  "INSERT INTO t VALUES ($1, ?)",
  "INSERT INTO t VALUES ($1, $name)",
  "INSERT INTO t SELECT $1, $2",
  "INSERT INTO t DEFAULT VALUES",
  "WITH x AS (SELECT 1) INSERT INTO t VALUES ($1, $2)",
  "INSERT INTO t VALUES ($1, $2",
  "UPDATE t SET a = $1 WHERE b = $2",
  "VALUES ($1, $2)",
  "INSERT INTO",
  "",
])("is no insert of one row that can be repeated: %s", (sql) => {
  expect(withTwoRows(sql)).toBeUndefined();
});
