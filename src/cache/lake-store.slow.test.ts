import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { sharedPostgres } from "../../test/postgres.ts";
import type { TestEngine } from "../../test/suites/duckdb-engine.ts";
import { fileLake, postgresLake, type TestLake, testWithLake, testWithPostgresLake } from "../../test/suites/lake.ts";
import { APPEND, definitionOf, FULL, MERGE, ownDefinitionOf } from "../../test/suites/snapshot-store.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import type { CacheDefinition, Snapshot } from "./cache.ts";
import { openSnapshotStore } from "./duckdb-store.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

const postgres = sharedPostgres();

const openStore = (t: TestEngine): Promise<SnapshotStore> =>
  openSnapshotStore(t.engine, { now: Date.now, randomId: randomUUID });

async function refresh(store: SnapshotStore, definition: CacheDefinition): Promise<Snapshot> {
  const { schema, table } = definition.name;
  const previous = (await store.load()).findLast(({ name }) => name.schema === schema && name.table === table);
  return await store.refresh(definition, previous, NEVER_STOPPED);
}

const rowsOf = async (t: TestEngine, { name, physicalTable }: Snapshot): Promise<unknown> =>
  (await t.read({ statements: `SELECT * FROM cache."${name.schema}".${physicalTable} ORDER BY ALL ASC NULLS LAST` }))
    .rows;

const SOURCE =
  "CREATE TABLE source (k INTEGER, c INTEGER, v VARCHAR); INSERT INTO source VALUES (1, 1, 'a'), (2, 2, 'b');";
const QUERY = "SELECT * FROM source";

for (const [kind, testWith, make] of [
  ["a file", testWithLake, fileLake],
  ["Postgres", testWithPostgresLake, async () => await postgresLake(await postgres())],
] as const) {
  const testOver = (name: string, run: (t: TestEngine, made: TestLake) => Promise<void>): void =>
    testWith(`over a lake in ${kind}: ${name}`, async () => {
      await using made = await make();
      await using t = await made.open(SOURCE);
      await run(t, made);
    });

  testOver("full, append and merge", async (t) => {
    const store = await openStore(t);
    const definitions = [FULL, APPEND, MERGE].map((mode) =>
      definitionOf(QUERY, { mode, name: { schema: "s", table: mode.kind } }),
    );
    for (const definition of definitions) await refresh(store, definition);
    await t.sql("INSERT INTO source VALUES (3, 2, 'late'), (1, 3, 'new'); DELETE FROM source WHERE k = 2");
    const after: unknown[] = [];
    for (const definition of definitions) after.push(await rowsOf(t, await refresh(store, definition)));
    expect(after).toEqual([
      [
        [1, 1, "a"],
        [1, 3, "new"],
        [3, 2, "late"],
      ],
      [
        [1, 1, "a"],
        [1, 3, "new"],
        [2, 2, "b"],
        [3, 2, "late"],
      ],
      [
        [1, 3, "new"],
        [2, 2, "b"],
        [3, 2, "late"],
      ],
    ]);
    const loaded = await store.load();
    expect(loaded.map(({ name, id, rows }) => [name.table, id, rows])).toEqual([
      ["append", 1, 2],
      ["append", 2, 4],
      ["full", 1, 2],
      ["full", 2, 3],
      ["merge", 1, 2],
      ["merge", 2, 3],
    ]);
    expect((await t.read({ statements: "SELECT count(*) FROM cache.s.merge" })).rows).toEqual([[3]]);
    expect((await store.records(10)).map(({ status }) => status)).toEqual(Array(6).fill("ok"));
  });

  testOver("drop, a template of its own, results, a failure", async (t) => {
    const store = await openStore(t);
    const definition = definitionOf(QUERY);
    const first = await refresh(store, definition);
    const second = await refresh(store, definition);
    await store.drop([first]);
    expect((await store.load()).map(({ id }) => id)).toEqual([2]);
    expect(await rowsOf(t, second)).toEqual([
      [1, 1, "a"],
      [2, 2, "b"],
    ]);
    const own = ownDefinitionOf(
      "CREATE OR REPLACE TABLE cache.s.own AS SELECT k FROM source; INSERT INTO cache.s.own VALUES (3)",
      { name: { schema: "s", table: "own" } },
    );
    expect(await rowsOf(t, await refresh(store, own))).toEqual([[1], [2], [3]]);
    expect(await rowsOf(t, await refresh(store, own))).toEqual([[1], [2], [3]]);
    const failing = definitionOf("SELECT error('no')");
    await expect(refresh(store, failing)).rejects.toThrow();
    expect((await store.load()).map(({ name, id }) => [name.table, id])).toEqual([
      ["own", 2],
      ["t", 2],
    ]);
    const result = await store.materialize(
      {
        name: { schema: "s", table: "r" },
        connections: [],
        statements: [{ sql: "SELECT $1 AS a", values: [{ type: "VARCHAR", value: "x" }] }],
      },
      NEVER_STOPPED,
    );
    expect(await rowsOf(t, result)).toEqual([["x"]]);
    await store.drop([result]);
    await expect(rowsOf(t, result)).rejects.toThrow();
  });

  testOver("is found again", async (t, made) => {
    const snapshot = await refresh(await openStore(t), definitionOf(QUERY));
    await t[Symbol.asyncDispose]();
    await using again = await made.open();
    expect(await (await openStore(again)).load()).toEqual([snapshot]);
    expect(await rowsOf(again, snapshot)).toEqual([
      [1, 1, "a"],
      [2, 2, "b"],
    ]);
  });
}
