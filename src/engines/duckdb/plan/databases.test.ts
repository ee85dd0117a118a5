import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extensionDirectory, missingExtensions } from "../../../../test/extensions.ts";
import { testNeeding } from "../../../../test/needing.ts";
import { statement, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";

const folder = mkdtempSync(join(tmpdir(), "eider-databases-"));
let t: TestEngine;
beforeAll(async () => {
  t = await testEngine(`
    CREATE TABLE t (i INTEGER);
    CREATE SCHEMA own;
    ATTACH '${join(folder, "file.duckdb")}' AS "File";
    ATTACH '${join(folder, "other.duckdb")}' AS other;
    ATTACH ':memory:' AS fleeting;
    ATTACH '${join(folder, "fixed.duckdb")}' AS fixed;
    DETACH fixed;
    ATTACH '${join(folder, "fixed.duckdb")}' AS fixed (READ_ONLY);
  `);
});
afterAll(async () => {
  await t[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const FILE = { kind: "database", name: "file", type: "duckdb" };
const none = (reason: string): unknown => ({ kind: "none", reason });

describe("where the record of a write is kept", () => {
  test.each<[readonly string[], unknown]>([
    [["INSERT INTO t VALUES (1)"], { kind: "memory" }],
    [["INSERT INTO own.t VALUES (1)"], { kind: "memory" }],
    [["INSERT INTO fleeting.t VALUES (1)"], { kind: "memory" }],
    [["SELECT 1"], { kind: "memory" }],
    [["INSERT INTO file.t SELECT * FROM other.t"], FILE],
    [["DELETE FROM FILE.main.t", 'UPDATE "file".t SET i = 1'], FILE],
    [["CREATE TEMP TABLE x AS SELECT 1", "INSERT INTO x VALUES (2)", "INSERT INTO file.t FROM x"], FILE],
    [["SET VARIABLE x = 1", "MERGE INTO file.t USING x ON true WHEN MATCHED THEN DELETE"], FILE],
    [["CREATE INDEX i ON file.t (i)"], FILE],
    [["COPY file.t FROM 'x.csv'"], FILE],
    [
      ["INSERT INTO file.t VALUES (1)", "DELETE FROM other.t"],
      none("it changes several databases, 'file' and 'other'"),
    ],
    [
      ["INSERT INTO file.t VALUES (1)", "INSERT INTO t VALUES (1)"],
      none("it changes several databases, 'file' and 'memory'"),
    ],
    [["INSERT INTO fixed.t VALUES (1)"], none("the database 'fixed' is read-only")],
    [
      ["CALL postgres_execute('pg', 'DELETE FROM t')"],
      none("Eider cannot tell which database POSTGRES_EXECUTE changes"),
    ],
    [["ATTACH 'x.duckdb' AS x", "INSERT INTO x.t VALUES (1)"], none("it reaches beyond its data (ATTACH)")],
    [["COPY t TO 'x.csv'"], none("it reaches beyond its data (COPY)")],
  ])("%j", async (texts, store) => {
    expect(await t.engine.recordStore([texts.map((sql) => statement(sql))])).toEqual(store);
  });

  test("in every way in which a template can be rendered", async () => {
    const samples = ["file.t", "other.t"].map((table) => [statement(`DELETE FROM ${table}`)]);
    expect(await t.engine.recordStore(samples)).toEqual(none("it changes several databases, 'file' and 'other'"));
    expect(await t.engine.recordStore([[], ...samples.slice(0, 1)])).toEqual(FILE);
  });

  test("names that may mean tables of several databases", async () => {
    await using searching = await testEngine(
      `ATTACH '${join(folder, "searched.duckdb")}' AS searched; CREATE TABLE searched.t (i INTEGER)`,
      { connections: [{ name: "paths", init: "SET search_path = 'memory,searched'", secrets: [] }] },
    );
    await searching.engine.openConnection("paths");
    expect(await searching.engine.recordStore([[statement("INSERT INTO t VALUES (1)")]])).toEqual(
      none("Eider cannot tell which database INSERT changes"),
    );
  });

  testNeeding(missingExtensions("ducklake"))("not in DuckLake, which has no unique keys", async () => {
    const lake = join(folder, "lake.ducklake");
    const init = `LOAD ducklake; ATTACH 'ducklake:${lake}' AS lake (DATA_PATH '${folder}/lake')`;
    await using engine = await testEngine(`SET extension_directory = '${extensionDirectory("ducklake")}'; ${init}`);
    expect(await engine.engine.recordStore([[statement("INSERT INTO lake.t VALUES (1)")]])).toEqual(
      none("the database 'lake' is of type ducklake, which has no unique keys"),
    );
  });
});

describe("a transaction that changes two databases", () => {
  test.each<[readonly string[], number, string, string]>([
    [["INSERT INTO file.t VALUES (1)", "DELETE FROM other.t"], 1, "file", "other"],
    [["INSERT INTO t VALUES (1)", "SELECT 1", "UPDATE file.t SET i = 1"], 2, "memory", "file"],
    [["CREATE TABLE own.x (i INTEGER)", "INSERT INTO file.t VALUES (1)"], 1, "memory", "file"],
  ])("%j", async (texts, at, first, second) => {
    expect(
      await t.engine.writeProblem(
        texts.map((sql) => statement(sql)),
        true,
      ),
    ).toEqual({
      kind: "syntax",
      message: `one transaction cannot change two databases, and this template changes '${first}' and '${second}'; write two endpoints, or let each statement commit by itself: operation: { transaction: false }`,
      statement: at,
      offset: undefined,
    });
  });

  test.each<[string, readonly string[]]>([
    ["one", ["INSERT INTO file.t VALUES (1)", "DELETE FROM FILE.main.t"]],
    ["reads of another", ["INSERT INTO file.t SELECT * FROM other.t", "SELECT * FROM t"]],
    ["temporary tables", ["CREATE TEMP TABLE x AS SELECT 1", "INSERT INTO x VALUES (2)", "INSERT INTO file.t FROM x"]],
    ["SQL for another database", ["CALL postgres_execute('pg', 'DELETE FROM t')", "INSERT INTO t VALUES (1)"]],
    [
      "names that mean something else by then",
      ["USE other", "INSERT INTO t VALUES (1)", "INSERT INTO other.t VALUES (1)"],
    ],
  ])("none: %s", async (_, texts) => {
    expect(
      await t.engine.writeProblem(
        texts.map((sql) => statement(sql)),
        true,
      ),
    ).toBeUndefined();
  });
});
