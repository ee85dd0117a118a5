import { randomUUID } from "node:crypto";
import type { CacheDefinition, CacheMode, RefreshVariables, Snapshot } from "../../src/cache/cache.ts";
import { openSnapshotStore } from "../../src/cache/duckdb-store.ts";
import type { SnapshotStore } from "../../src/cache/snapshot-store.ts";
import type { Statement } from "../../src/sql/statement.ts";
import { statement, type TestEngine, type TestEngineOptions, testEngine } from "./duckdb-engine.ts";

export interface TestStore extends AsyncDisposable {
  readonly t: TestEngine;
  readonly store: SnapshotStore;
  readonly clock: { ms: number };
  /** Refreshes over the current snapshot; aborted by its own signal only. */
  refresh(definition: CacheDefinition): Promise<Snapshot>;
  /** All rows of a query, as arrays. */
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
  /** The rows of a snapshot, sorted. */
  rowsOf(snapshot: Snapshot): Promise<readonly (readonly unknown[])[]>;
  /** Names of tables and views in the cache database, save for the bookkeeping. */
  tables(): Promise<readonly string[]>;
}

export interface TestStoreOptions extends TestEngineOptions {
  /** In memory when absent. */
  readonly path?: string | undefined;
}

/** A store over a new engine, on which `setup` has run. */
export async function testStore(setup = "", options: TestStoreOptions = {}): Promise<TestStore> {
  const { path = ":memory:", ...engineOptions } = options;
  const t = await testEngine(setup, engineOptions);
  try {
    await t.engine.attach("cache", `ATTACH '${path}' AS cache`);
    const clock = { ms: 1_700_000_000_000 };
    const store = await openSnapshotStore(t.engine, { now: () => clock.ms++, randomId: randomUUID });
    return storeOn(t, store, clock);
  } catch (error) {
    await t[Symbol.asyncDispose]();
    throw error;
  }
}

function storeOn(t: TestEngine, store: SnapshotStore, clock: { ms: number }): TestStore {
  const rows = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
    (await t.read({ statements: sql })).rows;
  return {
    t,
    store,
    clock,
    rows,
    async refresh(definition) {
      const { schema, table } = definition.name;
      const known = await store.load();
      const previous = known.findLast(({ name }) => name.schema === schema && name.table === table);
      return await store.refresh(definition, previous, new AbortController().signal);
    },
    rowsOf: ({ name, physicalTable }) =>
      rows(`SELECT * FROM cache."${name.schema.replaceAll('"', '""')}".${physicalTable} ORDER BY ALL ASC NULLS LAST`),
    async tables() {
      const found = await rows(
        `SELECT table_name FROM duckdb_tables() WHERE database_name = 'cache' AND schema_name <> 'audit'
         UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = 'cache' AND NOT internal ORDER BY 1 ASC`,
      );
      return found.map(([name]) => String(name));
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

export const FULL: CacheMode = { kind: "full" };
export const APPEND: CacheMode = { kind: "append", cursor: "c" };
export const MERGE: CacheMode = { kind: "merge", cursor: "c", primaryKey: ["k"] };

type Template = string | readonly Statement[] | ((variables: RefreshVariables) => string | readonly Statement[]);

/** A cache `s.t` that is filled by a query, or by several statements with semicolons between them. */
export function definitionOf(template: Template, definition: Partial<CacheDefinition> = {}): CacheDefinition {
  return defined("select", template, definition);
}

/** One whose template changes its table itself. */
export function ownDefinitionOf(template: Template, definition: Partial<CacheDefinition> = {}): CacheDefinition {
  return defined("own", template, definition);
}

function defined(kind: "select" | "own", template: Template, definition: Partial<CacheDefinition>): CacheDefinition {
  return {
    name: { schema: "s", table: "t" },
    mode: FULL,
    retention: { keepLast: 1, maxAgeMs: undefined },
    connections: [],
    scheduleMs: undefined,
    render(variables) {
      const text = typeof template === "function" ? template(variables) : template;
      return { kind, statements: typeof text === "string" ? text.split(";").map((sql) => statement(sql)) : text };
    },
    ...definition,
  };
}
