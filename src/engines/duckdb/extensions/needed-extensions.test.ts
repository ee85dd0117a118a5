import { expect, test } from "vitest";
import { neededExtensions } from "./needed-extensions.ts";

test.each([
  ["SELECT 1", []],
  ["LOAD postgres", ["postgres_scanner"]],
  ["INSTALL 'spatial'; FORCE INSTALL inet; LOAD \"fts\"", ["spatial", "inet", "fts"]],
  ["LOAD '/srv/x.duckdb_extension'", []],
  ["-- LOAD spatial\nSELECT 'LOAD spatial'", []],
  ["ATTACH 'x.db' AS x (TYPE sqlite)", ["sqlite_scanner"]],
  ["ATTACH 'x.duckdb' AS x (TYPE duckdb, READ_ONLY)", []],
  ["ATTACH 'sqlite:x.db' AS x", ["sqlite_scanner"]],
  ["ATTACH 'md:sales' AS x", ["motherduck"]],
  ["ATTACH 'ducklake:postgres:dbname=x' AS x (DATA_PATH 's3://b/x')", ["ducklake", "postgres_scanner", "httpfs"]],
  ["ATTACH 'https://host/x.duckdb' AS x", ["httpfs"]],
  ["CREATE SECRET s (TYPE s3, KEY_ID 'a')", ["httpfs"]],
  ["CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3, PROVIDER credential_chain)", ["httpfs", "aws"]],
  ["CREATE SECRET s (TYPE azure, PROVIDER credential_chain)", ["azure"]],
  ["CREATE TYPE x AS ENUM ('s3')", []],
  ["SELECT * FROM iceberg_scan('x')", ["iceberg", "avro"]],
  ["SELECT * FROM read_xlsx('a.xlsx') JOIN 'b.xlsx' USING (id)", ["excel"]],
  ["SELECT st_area(g), read_xlsx FROM read_parquet(['s3://a/b', 'x'])", ["spatial", "httpfs"]],
  ["SELECT * FROM read_csv('az://c/x.csv')", ["azure"]],
  ["SELECT concat('https://shop/', id) AS link FROM t WHERE a = 'https://x'", []],
  ["SELECT * FROM 'gs://{{conn.bucket}}/x.parquet' WHERE id = {{params.id}}", ["httpfs"]],
])("%s", (sql, names) => {
  expect(neededExtensions(sql).map(({ name }) => name)).toEqual(names);
});

test("the repository is that of INSTALL", () => {
  const bigquery = [{ name: "bigquery", repository: "community" }];
  expect(neededExtensions("INSTALL bigquery FROM community; LOAD bigquery")).toEqual(bigquery);
  expect(neededExtensions("LOAD bigquery; INSTALL bigquery FROM community")).toEqual(bigquery);
  expect(neededExtensions("INSTALL x FROM '/srv/Repo'")).toEqual([{ name: "x", repository: "/srv/Repo" }]);
});
