import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ODD_SETTINGS } from "../../test/odd-settings.ts";
import { folderWith } from "../../test/process/program.ts";
import type { TestEngine } from "../../test/suites/duckdb-engine.ts";
import { fileLake, testWithLake } from "../../test/suites/lake.ts";
import { definitionOf, testStore } from "../../test/suites/snapshot-store.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import { statement } from "../sql/statement.ts";
import type { CacheDefinition, CacheMode } from "./cache.ts";
import { openSnapshotStore } from "./duckdb-store.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

/** Each setting alone, and all together. */
const ALL = [
  ...Object.entries(ODD_SETTINGS).map((setting) => [`${setting.join(" = ")}`, new Map([setting])] as const),
  ["all of them", new Map(Object.entries(ODD_SETTINGS))] as const,
];

const QUERY = "SELECT * FROM src";
const FULL = definitionOf(QUERY, { name: { schema: "s", table: "full" } });
/** Another cache, unless accents are ignored. */
const ACCENT = definitionOf("SELECT 1 AS x", { name: { schema: "s", table: "füll" } });
const incremental = (mode: CacheMode, table: string): CacheDefinition =>
  definitionOf(QUERY, { mode, name: { schema: "s", table } });
/** Texts that only a collation takes for equal, a cursor that is text, lists and structs, NULLs. */
const SOURCE = `CREATE TABLE src (k VARCHAR, c VARCHAR, l STRUCT(a VARCHAR, b INTEGER[]));
  INSERT INTO src VALUES ('a', 'x', {'a': 'p', 'b': [1, 2]}), ('B', 'Y', NULL), ('n', NULL, {'a': NULL, 'b': []})`;
const LATE = "INSERT INTO src VALUES ('A', 'x', {'a': 'p', 'b': [1, 2]}), ('a', 'x', NULL), ('ä', 'x', NULL)";

async function refresh(store: SnapshotStore, definition: CacheDefinition): Promise<string> {
  const { schema, table } = definition.name;
  const previous = (await store.load()).findLast(({ name }) => name.schema === schema && name.table === table);
  const snapshot = await store.refresh(definition, previous, NEVER_STOPPED);
  return `cache."${schema}".${snapshot.physicalTable}`;
}

/** The rows of a table as text, in the order of their bytes. */
async function rowsOf(t: TestEngine, table: string): Promise<readonly string[]> {
  const { rows } = await t.read({ statements: `SELECT concat_ws('|', k, c, l::VARCHAR) FROM ${table}` });
  return rows.map(([text]) => String(text)).sort();
}

async function behavesAsEver(t: TestEngine, store: SnapshotStore): Promise<void> {
  const append = incremental({ kind: "append", cursor: "c" }, "append");
  const merge = incremental({ kind: "merge", cursor: "c", primaryKey: ["k"] }, "merge");
  for (const definition of [FULL, append, merge, ACCENT]) await refresh(store, definition);
  await t.sql(LATE);
  const first = ["B|Y", "a|x|{'a': p, 'b': [1, 2]}", "n|{'a': NULL, 'b': []}"];
  const late = ["A|x|{'a': p, 'b': [1, 2]}", "a|x", "ä|x"];
  expect(await rowsOf(t, await refresh(store, append))).toEqual([...first, ...late].sort());
  // Of two rows with the key `a` and the same cursor, the later one stays.
  expect(await rowsOf(t, await refresh(store, merge))).toEqual(
    [...first.filter((row) => !row.startsWith("a|")), ...late].sort(),
  );
  for (const _ of [1, 2]) await refresh(store, FULL);
  const snapshots = await store.load();
  expect(snapshots.filter(({ name }) => name.table === "full").map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(snapshots.filter(({ name }) => name.table === "füll").map(({ id }) => id)).toEqual([1]);
  expect((await store.records(3)).map(({ snapshot }) => snapshot)).toEqual([3, 2, 2]);
  const ordered = {
    name: FULL.name,
    connections: [],
    statements: [statement("SELECT hash(range)::VARCHAR AS x FROM range(300000) ORDER BY x ASC")],
  };
  const { physicalTable } = await store.materialize(ordered, NEVER_STOPPED);
  const { rows } = await t.read({ statements: `SELECT x FROM cache.s.${physicalTable} ORDER BY rowid ASC` });
  const texts = rows.map(([text]) => String(text));
  expect(texts.findIndex((text, index) => index > 0 && text < (texts[index - 1] ?? ""))).toBe(-1);
  expect(await store.outdated([FULL, append, merge, ACCENT])).toEqual([]);
}

describe.each(ALL)("under %s", (_, settings) => {
  test("a cache in a file", async () => {
    await using folder = await folderWith({});
    const path = `${folder.path}/cache.duckdb`;
    {
      await using s = await testStore(SOURCE, { path, settings });
      await behavesAsEver(s.t, s.store);
    }
    await using s = await testStore(SOURCE, { path, settings });
    expect((await s.store.load()).findLast(({ name }) => name.table === "full")?.id).toBe(3);
  });
});

// The settings reach no statement of the extension itself, so that two rounds show it.
describe.each(ALL.filter(([name]) => name.startsWith("preserve_insertion_order") || name === "all of them"))(
  "under %s",
  (_, settings) => {
    testWithLake("a cache in DuckLake, and a second process", async () => {
      await using lake = await fileLake();
      const openStore = (t: TestEngine): Promise<SnapshotStore> =>
        openSnapshotStore(t.engine, { now: Date.now, randomId: randomUUID });
      {
        await using t = await lake.open(SOURCE, { settings });
        await behavesAsEver(t, await openStore(t));
      }
      await using t = await lake.open(SOURCE, { settings });
      expect((await (await openStore(t)).load()).findLast(({ name }) => name.table === "full")?.id).toBe(3);
    });
  },
);
