import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { APPEND, definitionOf, FULL, MERGE, type TestStore, testStore } from "../../test/suites/snapshot-store.ts";
import type { CacheMode, RefreshVariables, Snapshot } from "./cache.ts";

/** A row of the source: a key, a cursor and something else. */
type Row = readonly [k: number | null, c: number | null, v: number];

type Step =
  /** Rows at the largest cursor, beyond it, far below it, or without one. */
  | {
      readonly kind: "insert";
      readonly rows: readonly { readonly k: number | null; readonly cursor: Place; readonly v: number }[];
    }
  /** Rows of a key get another cursor and another value. */
  | { readonly kind: "update"; readonly k: number | null; readonly cursor: Place; readonly v: number }
  | { readonly kind: "delete"; readonly k: number | null }
  | { readonly kind: "refresh" };

type Place = "same" | "beyond" | "below" | "none";

const key = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(null));
const place = fc.constantFrom<Place>("same", "same", "beyond", "beyond", "below", "none");
/** Few values: rows that are equal in all columns are to be counted too. */
const value = fc.integer({ min: 0, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("insert" as const),
      rows: fc.array(fc.record({ k: key, cursor: place, v: value }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("update" as const), k: key, cursor: place, v: value }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), k: key }) },
  { weight: 4, arbitrary: fc.constant<Step>({ kind: "refresh" }) },
);

function cursorAt(rows: readonly Row[], place: Place): number | null {
  const largest = Math.max(0, ...rows.map(([, c]) => c ?? 0));
  switch (place) {
    case "same":
      return largest;
    case "beyond":
      return largest + 1;
    case "below":
      return Math.max(0, largest - 3);
    case "none":
      return null;
  }
}

/** The source after a step. Its rows keep their order. */
function after(step: Step, source: readonly Row[]): readonly Row[] {
  switch (step.kind) {
    case "insert": {
      const rows = [...source];
      for (const { k, cursor, v } of step.rows) rows.push([k, cursorAt(rows, cursor), v]);
      return rows;
    }
    case "update": {
      const c = cursorAt(source, step.cursor);
      return source.map((row) => (row[0] === step.k ? [step.k, c, step.v] : row));
    }
    case "delete":
      return source.filter(([k]) => k !== step.k);
    case "refresh":
      return source;
  }
}

/** What the cache holds after a refresh, in the plainest words. */
function refreshed(mode: CacheMode, source: readonly Row[], cached: readonly Row[] | undefined): readonly Row[] {
  switch (mode.kind) {
    case "full":
      return source;
    case "append":
      return cached === undefined ? source : [...cached, ...appended(source, cached)];
    case "merge": {
      const newest = newestOfEachKey(source);
      const kept = (cached ?? []).filter(([k]) => !newest.some(([other]) => other === k));
      return [...kept, ...newest];
    }
  }
}

function appended(source: readonly Row[], cached: readonly Row[]): readonly Row[] {
  const cursors = cached.flatMap(([, c]) => (c === null ? [] : [c]));
  const mark = cursors.length === 0 ? undefined : Math.max(...cursors);
  const there = cached.filter(([, c]) => c === null || c === mark).map((row) => JSON.stringify(row));
  return source.filter((row) => {
    const [, c] = row;
    if (c !== null && (mark === undefined || c > mark)) return true;
    if (c !== null && c !== mark) return false;
    const at = there.indexOf(JSON.stringify(row));
    if (at >= 0) there.splice(at, 1);
    return at < 0;
  });
}

function newestOfEachKey(source: readonly Row[]): readonly Row[] {
  const newest = new Map<number | null, Row>();
  for (const row of source) {
    const [k, c] = row;
    const known = newest.get(k);
    if (known === undefined || (c ?? -1) >= (known[1] ?? -1)) newest.set(k, row);
  }
  return [...newest.values()];
}

const sorted = (rows: readonly (readonly unknown[])[]): readonly string[] =>
  rows.map((row) => JSON.stringify(row)).sort();

function sqlOf(step: Step, source: readonly Row[], table: string): string {
  const literal = (value: number | null): string => (value === null ? "NULL" : String(value));
  switch (step.kind) {
    case "insert": {
      const rows = after(step, source).slice(source.length);
      return `INSERT INTO ${table} VALUES ${rows.map((row) => `(${row.map(literal).join(", ")})`).join(", ")}`;
    }
    case "update":
      return `UPDATE ${table} SET c = ${literal(cursorAt(source, step.cursor))}, v = ${step.v} WHERE k IS NOT DISTINCT FROM ${literal(step.k)}`;
    case "delete":
      return `DELETE FROM ${table} WHERE k IS NOT DISTINCT FROM ${literal(step.k)}`;
    case "refresh":
      return "";
  }
}

/** Runs steps against the database and against the model, and compares after each refresh. */
async function live(
  s: TestStore,
  steps: readonly Step[],
  { mode, run, asksForAll }: { readonly mode: CacheMode; readonly run: number; readonly asksForAll: boolean },
): Promise<void> {
  const table = `src_${run}`;
  const query = ({ previousSnapshotTimestamp: mark }: RefreshVariables): string => {
    const isNew = mark === undefined || asksForAll ? "true" : `c >= '${mark}'::INTEGER OR c IS NULL`;
    return `SELECT k, c, v FROM ${table} WHERE ${isNew} ORDER BY rowid ASC`;
  };
  const definition = definitionOf(query, { name: { schema: "model", table: `t${run}` }, mode });
  await s.t.sql(`CREATE TABLE ${table} (k INTEGER, c INTEGER, v INTEGER)`, [table]);
  let source: readonly Row[] = [];
  let cached: readonly Row[] | undefined;
  const made: { readonly snapshot: Snapshot; readonly rows: readonly Row[] }[] = [];
  for (const step of [...steps, { kind: "refresh" } as const]) {
    if (step.kind !== "refresh") {
      await s.t.sql(sqlOf(step, source, table), [table]);
      source = after(step, source);
      continue;
    }
    cached = refreshed(mode, source, cached);
    const snapshot = await s.store.refresh(definition, made.at(-1)?.snapshot, new AbortController().signal);
    expect([snapshot.id, snapshot.rows]).toEqual([made.length + 1, cached.length]);
    expect(sorted(await s.rowsOf(snapshot))).toEqual(sorted(cached));
    made.push({ snapshot, rows: cached });
  }
  // None of the earlier ones has changed since.
  for (const { snapshot, rows } of made) expect(sorted(await s.rowsOf(snapshot))).toEqual(sorted(rows));
  await s.store.drop(made.slice(0, -1).map(({ snapshot }) => snapshot));
  await s.t.sql(`DROP TABLE ${table}`, [table]);
}

describe("random writes and refreshes come out as the model says", () => {
  test.each([
    ["full", FULL, true],
    ["append, all rows each time", APPEND, true],
    ["append, rows from the mark on", APPEND, false],
    ["merge", MERGE, true],
  ])("%s", async (_, mode, asksForAll) => {
    await using s = await testStore();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), (steps) => live(s, steps, { mode, run: run++, asksForAll })),
      { numRuns: 20 },
    );
  });
});
