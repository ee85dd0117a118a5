import { describe, expect, test } from "vitest";
import { statement } from "../../../sql/statement.ts";
import { connectionTypes } from "../connections/index.ts";
import { remoteQueries } from "./remote-queries.ts";

const overInit = (init: string | undefined, properties?: readonly string[]): boolean =>
  remoteQueries([{ name: "c", init, secrets: [], properties }])({ connections: ["c"] });

const overSql = (sql: string): boolean =>
  remoteQueries([])({ connections: [], statements: [statement("SELECT 1"), statement(sql)] });

describe("connections", () => {
  test.each([
    "ATTACH 'dbname=x host=h' AS pg (TYPE postgres, READ_ONLY)",
    "/* shop */ attach if not exists 'postgres:dbname=x' AS pg",
    "ATTACH 'x' AS m (TYPE 'mysql')",
    "ATTACH 'ducklake:postgres:dbname=x' AS lake",
    "ATTACH 'ducklake:meta.db' AS lake (DATA_PATH 's3://bucket/x')",
    "ATTACH 'https://example.com/x.duckdb' AS x",
    "INSTALL postgres_scanner",
    "SELECT 1; LOAD mysql",
    "FORCE INSTALL bigquery FROM community",
    "LOAD '/extensions/snowflake.duckdb_extension'",
    "CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3)",
    "CREATE OR REPLACE TEMP VIEW v AS FROM 's3://bucket/x.parquet'",
    "CREATE MACRO m() AS TABLE FROM read_csv('https://example.com/x.csv')",
  ])("remote: %s", (init) => {
    expect(overInit(init)).toBe(true);
  });

  test.each([
    undefined,
    "ATTACH 'x.db' AS x; ATTACH ':memory:' AS y; ATTACH 'sqlite:x.sqlite' AS z; ATTACH 'x.duckdb' AS w (TYPE duckdb)",
    "ATTACH 'ducklake:meta.ducklake' AS lake (DATA_PATH './files')",
    "ATTACH 'ducklake:sqlite:meta.sqlite' AS lake",
    "INSTALL sqlite; LOAD sqlite; LOAD \"spatial\"; LOAD '/extensions/icu.duckdb_extension'",
    "LOAD httpfs; CREATE TABLE t AS FROM 'https://example.com/x.csv'",
    "CREATE TABLE t (id INTEGER, type VARCHAR); CREATE TYPE mood AS ENUM ('a'); INSERT INTO t VALUES (1, 'postgres')",
    "CREATE VIEW v AS SELECT 'see postgres' AS s FROM 'file:///data/x.csv'",
    "SET s3_region = 'eu'",
  ])("local: %s", (init) => {
    expect(overInit(init)).toBe(false);
  });

  test("properties: a URL is remote, a path is local", () => {
    expect(overInit(undefined, ["a", "s3://bucket/orders"])).toBe(true);
    expect(overInit(undefined, ["/data/orders.csv", "file:///data", "C:\\data"])).toBe(false);
  });

  test("a query is remote if one of its connections is", () => {
    const isRemote = remoteQueries([
      { name: "here", init: undefined, secrets: [] },
      { name: "there", init: "LOAD postgres", secrets: [] },
    ]);
    expect(isRemote({ connections: ["here"] })).toBe(false);
    expect(isRemote({ connections: ["here", "there"] })).toBe(true);
  });

  test.each(connectionTypes.map((type) => [type.type, type] as const))("type %s", (name, type) => {
    const context = { name: "c", readOnly: false };
    const expand = (value: string): string =>
      type.expand(Object.fromEntries(type.options.map((option) => [option, value])), context);
    const isAlwaysRemote = /^(?:postgres|mysql|iceberg-catalog|motherduck|.*-secret)$/.test(name);
    expect(overInit(expand("./data"))).toBe(isAlwaysRemote);
    expect(overInit(expand("s3://bucket/data"))).toBe(true);
  });
});

describe("statements", () => {
  test.each([
    "SELECT * FROM 'https://example.com/x.csv'",
    "SELECT * FROM t JOIN 's3://bucket/x.parquet' USING (id)",
    "FROM read_parquet(['s3://bucket/a.parquet', 's3://bucket/b.parquet'])",
  ])("remote: %s", (sql) => {
    expect(overSql(sql)).toBe(true);
  });

  test.each([
    "SELECT 'https://example.com/' || id AS link FROM t",
    "SELECT * FROM 'file:///data/x.csv'",
    "SELECT * FROM t WHERE link LIKE '%://%'",
  ])("local: %s", (sql) => {
    expect(overSql(sql)).toBe(false);
  });
});
