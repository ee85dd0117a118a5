import { expect, test } from "vitest";
import { sharedPostgres } from "../../test/postgres.ts";
import { testEngine } from "../../test/suites/duckdb-engine.ts";
import {
  fileLake,
  lakeSettings,
  postgresLake,
  sqliteLake,
  testWithLake,
  testWithPostgresLake,
  testWithSqliteLake,
} from "../../test/suites/lake.ts";
import { EngineOpenError } from "../engines/engine.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import { attachLake, attachSql, isShared, type Lake } from "./ducklake.ts";
import { afterMs } from "./schedule.ts";

const postgres = sharedPostgres();

const lakeOf = (metadataPath: string, dataPath?: string): Lake => ({ catalog: "cache", metadataPath, dataPath });

test("everything is quoted, and a password is in a secret only", () => {
  expect(attachSql({ catalog: 'my "cache"', metadataPath: "/it's/here", dataPath: "/it's/there" })).toBe(
    `INSTALL ducklake;\nLOAD ducklake;\nATTACH 'ducklake:/it''s/here' AS "my ""cache""" (DATA_PATH '/it''s/there', DATA_INLINING_ROW_LIMIT 0)`,
  );
  expect(attachSql(lakeOf("postgres:dbname=cache password='it\\'s'", "s3://rows/")).split("\n").slice(4)).toEqual([
    `CREATE OR REPLACE SECRET "cache_catalog" (TYPE postgres, PASSWORD 'it''s');`,
    `ATTACH 'ducklake:postgres:dbname=''cache''' AS "cache" (DATA_PATH 's3://rows/', DATA_INLINING_ROW_LIMIT 0, META_SECRET 'cache_catalog')`,
  ]);
});

test("Postgres does not say where the rows go", () => {
  expect(() => attachSql(lakeOf("postgres:dbname=cache"))).toThrow(/^data-path: missing/);
});

test("only a server is shared by processes", () => {
  expect(["/a/b", "sqlite:/a/b", "postgres:dbname=c"].map((path) => isShared(lakeOf(path)))).toEqual([
    false,
    false,
    true,
  ]);
});

for (const [kind, testWith, make] of [
  ["a file", testWithLake, fileLake],
  ["SQLite", testWithSqliteLake, sqliteLake],
  ["Postgres", testWithPostgresLake, async () => await postgresLake(await postgres())],
] as const) {
  testWith(`a catalog in ${kind} is made, and found again`, async () => {
    await using made = await make();
    {
      await using t = await made.open();
      await t.sql("CREATE SCHEMA cache.s; CREATE TABLE cache.s.t AS SELECT 7 AS a");
      await t.sql("CREATE TABLE cache.audit.t (a INTEGER); INSERT INTO cache.audit.t VALUES (8)");
      // Rows of snapshots are files, however few. Our own bookkeeping is not.
      expect(await made.files()).toEqual([expect.stringMatching(/^s\/t\/ducklake-.*\.parquet$/)]);
    }
    await using t = await made.open();
    expect((await t.read({ statements: "SELECT * FROM cache.s.t UNION ALL FROM cache.audit.t" })).rows).toEqual([
      [7],
      [8],
    ]);
  });

  testWith(`a catalog in ${kind}: readers do not block writers`, async () => {
    await using made = await make();
    await using t = await made.open();
    await t.sql("CREATE TABLE cache.audit.t (a INTEGER)");
    await t.engine.change({ connections: [], touches: [], signal: NEVER_STOPPED }, async (run) => {
      const read = { sql: "SELECT count(*)::VARCHAR FROM cache.audit.t", values: [] };
      expect(await run(read)).toEqual([["0"]]);
      await t.sql("INSERT INTO cache.audit.t VALUES (1)");
      expect(await run(read)).toEqual([["0"]]);
    });
    expect((await t.read({ statements: "FROM cache.audit.t" })).rows).toEqual([[1]]);
  });
}

testWithLake("rows that lie elsewhere than the catalog says are refused", async () => {
  await using made = await fileLake();
  await (await made.open())[Symbol.asyncDispose]();
  await using t = await testEngine(lakeSettings());
  const refused = attachLake(t.engine, { ...made.lake, dataPath: `${made.folder}/elsewhere` }, afterMs);
  await expect(refused).rejects.toThrow(/does not match existing data path/);
});

testWithPostgresLake("many processes make the same catalog at once", async () => {
  await using made = await postgresLake(await postgres());
  const engines = await Promise.all(Array.from({ length: 4 }, () => made.open()));
  try {
    await engines[0]?.sql("CREATE TABLE cache.audit.t AS SELECT 1 AS a");
    const read = engines.map((t) => t.read({ statements: "FROM cache.audit.t" }));
    expect((await Promise.all(read)).map(({ rows }) => rows)).toEqual(engines.map(() => [[1]]));
  } finally {
    for (const t of engines) await t[Symbol.asyncDispose]();
  }
});

testWithPostgresLake("no message holds a password", async () => {
  const { port } = await postgres();
  await using t = await testEngine(lakeSettings());
  for (const metadataPath of [
    `postgres:dbname=nothing host=127.0.0.1 port=${port} user=eider password='wrong one''`,
    `postgres:dbname=nothing host=127.0.0.1 port=${port} user=eider password=wrongone`,
    `postgres://eider:wrongone@127.0.0.1:${port}/nothing`,
    "postgres://eider:wrongone@127.0.0.1:1/nothing?sslpassword=wrongone",
  ]) {
    const failed: unknown = await attachLake(t.engine, lakeOf(metadataPath, "/nowhere"), afterMs).catch(
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(EngineOpenError);
    expect(String(failed)).not.toMatch(/wrong/);
    expect(failed).not.toHaveProperty("cause", expect.anything());
  }
});
