import { open, stat } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../test/process/program.ts";
import { statement, testEngine } from "../../test/suites/duckdb-engine.ts";
import { APPEND, definitionOf, ownDefinitionOf, testStore } from "../../test/suites/snapshot-store.ts";
import { ForeignCacheError, openSnapshotStore } from "./duckdb-store.ts";

const SOURCE = "CREATE TABLE src AS SELECT range::INTEGER AS k, range::INTEGER AS c FROM range(1000)";
const never = (): AbortSignal => new AbortController().signal;

describe("a cache file", () => {
  test("has its snapshots when it is opened again, and is refreshed further", async () => {
    await using folder = await folderWith({});
    const path = `${folder.path}/it's a cache.db`.replaceAll("'", "''");
    const definition = definitionOf("SELECT k, c FROM src", { mode: APPEND });
    const own = ownDefinitionOf("CREATE OR REPLACE TABLE cache.s.own AS SELECT 1 AS x", {
      name: { schema: "s", table: "own" },
    });
    const first = await (async () => {
      await using s = await testStore(SOURCE, { path });
      return { loaded: [await s.refresh(own), await s.refresh(definition)], records: await s.store.records(9) };
    })();
    await using s = await testStore(`${SOURCE}; INSERT INTO src VALUES (2000, 2000), (1, 1)`, { path });
    expect(await s.store.load()).toEqual(first.loaded);
    expect(await s.store.records(9)).toEqual(first.records);
    const next = await s.refresh(definition);
    expect([next.id, next.rows]).toEqual([2, 1001]);
    expect((await s.refresh(own)).id).toBe(2);
  });

  test("loses what belongs to nothing when it is opened again, and nothing else", async () => {
    await using folder = await folderWith({});
    const path = `${folder.path}/cache.db`;
    const kept = await (async () => {
      await using s = await testStore(SOURCE, { path });
      const [first, second, third] = [
        await s.refresh(definitionOf("SELECT k FROM src")),
        await s.refresh(definitionOf("SELECT k FROM src")),
        await s.refresh(definitionOf("SELECT k FROM src", { name: { schema: "S", table: "u" } })),
      ];
      await s.store.materialize({ name: third.name, connections: [], statements: [statement("SELECT 1")] }, never());
      await s.t.sql(`DELETE FROM cache.audit.snapshots WHERE uid = '${first.uid}'; DROP TABLE cache.s.${third.physicalTable};
        CREATE TABLE cache.s.orders__1 (x INT); CREATE TABLE cache.s.t__r_mine (x INT); CREATE SCHEMA cache.other;
        CREATE TABLE cache.other.t (x INT)`);
      return second;
    })();
    await using s = await testStore(SOURCE, { path });
    expect(await s.store.load()).toEqual([kept]);
    expect(await s.tables()).toEqual(["orders__1", "t", "t", kept.physicalTable, "t__r_mine", "u"].sort());
    expect((await s.refresh(definitionOf("SELECT k FROM src", { name: { schema: "s", table: "u" } }))).id).toBe(1);
  });

  test.each([
    ["dropped", definitionOf("SELECT hash(range) AS a, hash(range + 1) AS b FROM range(60000)")],
    [
      "replaced",
      ownDefinitionOf(
        "CREATE OR REPLACE TABLE cache.s.t AS SELECT hash(range) AS a, hash(range + 1) AS b FROM range(60000)",
      ),
    ],
  ])("does not grow with refreshes whose predecessors are %s", async (_, definition) => {
    await using folder = await folderWith({});
    const path = `${folder.path}/cache.db`;
    await using s = await testStore("", { path });
    let previous = await s.refresh(definition);
    const sizes: number[] = [];
    for (let times = 0; times < 8; times++) {
      const next = await s.refresh(definition);
      await s.store.drop([previous]);
      previous = next;
      sizes.push((await stat(path)).size);
    }
    expect(sizes.at(-1)).toBeLessThanOrEqual(2 * Math.max(...sizes.slice(0, 3)));
  });
});

describe("a database that is not ours", () => {
  const AUDIT = "CREATE SCHEMA cache.audit;";
  test.each([
    ["CREATE TABLE cache.audit.layout (version VARCHAR)", "it has audit.layout, but no audit.refreshes"],
    ["CREATE TABLE cache.audit.snapshots (a INT)", "its table audit.snapshots has other columns than ours: a INTEGER"],
    ["CREATE TABLE cache.audit.refreshes (a INT)", "its table audit.refreshes has other columns than ours: a INTEGER"],
    ["CREATE VIEW cache.audit.layout AS SELECT 'x' AS version", "it has audit.layout, but no audit.refreshes"],
    ["CREATE TABLE cache.audit.layout (version INTEGER)", "its table audit.layout has other columns than ours"],
  ])("%s", async (sql, message) => {
    await using t = await testEngine();
    await t.engine.attach("cache", `ATTACH ':memory:' AS cache; ${AUDIT} ${sql}`);
    const opening = openSnapshotStore(t.engine, { now: Date.now, randomId: () => crypto.randomUUID() });
    await expect(opening).rejects.toThrow(ForeignCacheError);
    await expect(opening).rejects.toThrow(message);
  });

  test.each([
    ["UPDATE cache.audit.layout SET version = '2'", "its layout is of version 2, ours is 1"],
    ["DELETE FROM cache.audit.layout", "its layout is of version none, ours is 1"],
    ["INSERT INTO cache.audit.layout VALUES ('1')", "its layout is of version 1, 1, ours is 1"],
    ["ALTER TABLE cache.audit.snapshots ADD COLUMN more INT", "its table audit.snapshots has other columns"],
    ["ALTER TABLE cache.audit.refreshes DROP COLUMN mode", "its table audit.refreshes has other columns"],
    ["DROP TABLE cache.audit.snapshots", "it has audit.layout, but no audit.snapshots"],
  ])("%s", async (sql, message) => {
    await using s = await testStore();
    const reopen = () => openSnapshotStore(s.t.engine, { now: Date.now, randomId: () => crypto.randomUUID() });
    await reopen();
    await s.t.sql(sql);
    await expect(reopen()).rejects.toThrow(ForeignCacheError);
    await expect(reopen()).rejects.toThrow(message);
  });

  test("a damaged file says so when it is attached or opened, and others are not harmed", async () => {
    await using folder = await folderWith({});
    const path = `${folder.path}/cache.db`;
    {
      await using s = await testStore(SOURCE, { path });
      await s.refresh(definitionOf("SELECT k, c FROM src"));
    }
    const file = await open(path, "r+");
    const { size } = await file.stat();
    // All but the headers.
    await file.write(Buffer.alloc(size - 12_288, 0x5a), 0, size - 12_288, 12_288);
    await file.close();
    await using t = await testEngine("CREATE TABLE t AS SELECT 1 AS x");
    const opening = t.engine
      .attach("cache", `ATTACH '${path}' AS cache`)
      .then(() => openSnapshotStore(t.engine, { now: Date.now, randomId: () => crypto.randomUUID() }));
    const error: unknown = await opening.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: expect.stringMatching(/^(EngineOpenError|ForeignCacheError)$/) });
    expect((await t.read({ statements: "SELECT x FROM t" })).rows).toEqual([[1]]);
  });
});

test("a database without bookkeeping gets one, and what is in it stays", async () => {
  await using t = await testEngine();
  await t.engine.attach(
    "other name",
    `ATTACH ':memory:' AS "other name"; CREATE TABLE "other name".mine AS SELECT 1 AS x`,
  );
  const options = { now: Date.now, randomId: () => crypto.randomUUID(), catalog: "other name" };
  // Two at the same time do not harm each other.
  const [store] = await Promise.all([openSnapshotStore(t.engine, options), openSnapshotStore(t.engine, options)]);
  const snapshot = await store.refresh(definitionOf("SELECT 5 AS five"), undefined, never());
  expect((await t.read({ statements: 'SELECT five FROM "other name".s.t' })).rows).toEqual([[5]]);
  expect(await store.load()).toEqual([snapshot]);
  expect((await t.read({ statements: 'SELECT x FROM "other name".mine' })).rows).toEqual([[1]]);
  expect((await t.read({ statements: 'SELECT version FROM "other name".audit.layout' })).rows).toEqual([["1"]]);
});
