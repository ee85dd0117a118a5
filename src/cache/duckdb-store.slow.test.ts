import { describe, expect, test } from "vitest";
import { failureOf, readOf, statement } from "../../test/suites/duckdb-engine.ts";
import { APPEND, definitionOf, FULL, MERGE, ownDefinitionOf, testStore } from "../../test/suites/snapshot-store.ts";
import type { CacheName, RefreshVariables, Snapshot } from "./cache.ts";

const SOURCE = "CREATE TABLE src (k INTEGER, c INTEGER, v VARCHAR); INSERT INTO src VALUES (1, 10, 'a'), (2, 20, 'b')";
const QUERY = "SELECT k, c, v FROM src";
const never = (): AbortSignal => new AbortController().signal;

describe("a refresh", () => {
  test("makes a snapshot, the view shows it, and the bookkeeping tells of it", async () => {
    await using s = await testStore(SOURCE);
    const snapshot = await s.refresh(definitionOf(QUERY));
    expect(snapshot).toEqual({
      name: { schema: "s", table: "t" },
      id: 1,
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      physicalTable: expect.stringMatching(/^t__1_[0-9a-z]{16}$/),
      createdAtMs: expect.any(Number),
      rows: 2,
      bytes: 0,
    });
    expect(await s.rowsOf(snapshot)).toEqual([
      [1, 10, "a"],
      [2, 20, "b"],
    ]);
    expect(await s.rows("SELECT * FROM cache.s.t ORDER BY ALL ASC NULLS LAST")).toEqual(await s.rowsOf(snapshot));
    expect(await s.store.load()).toEqual([snapshot]);
    expect(await s.store.records(10)).toEqual([
      {
        name: { schema: "s", table: "t" },
        mode: "full",
        status: "ok",
        message: undefined,
        rows: 2,
        snapshot: 1,
        startedAtMs: snapshot.createdAtMs,
        durationMs: expect.any(Number),
      },
    ]);
  });

  test("the next one is another table; who reads the old one is not disturbed", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definitionOf(QUERY));
    await s.t.sql("DELETE FROM src WHERE k = 1; UPDATE src SET v = 'z'");
    const second = await s.refresh(definitionOf(QUERY));
    expect([second.id, second.rows, second.physicalTable === first.physicalTable]).toEqual([2, 1, false]);
    expect(second.uid).not.toBe(first.uid);
    expect(second.createdAtMs).toBeGreaterThan(first.createdAtMs);
    expect(await s.rowsOf(first)).toHaveLength(2);
    expect(await s.rows("SELECT v FROM cache.s.t")).toEqual([["z"]]);
    expect(await s.store.load()).toEqual([first, second]);
    expect((await s.store.records(1)).map(({ snapshot }) => snapshot)).toEqual([2]);
  });

  test("all statements but the last are run, and their temporary things are gone afterwards", async () => {
    await using s = await testStore(SOURCE, { maxConcurrentQueries: 1 });
    const definition = definitionOf(
      "CREATE TEMP TABLE x AS SELECT k FROM src; SET VARIABLE more = 5; SELECT k + getvariable('more') AS n FROM x",
    );
    for (const id of [1, 2, 3]) {
      const snapshot = await s.refresh(definition);
      expect([snapshot.id, await s.rowsOf(snapshot)]).toEqual([id, [[6], [7]]]);
    }
    expect((await failureOf(s.rows("FROM x"))).failure.kind).toBe("query-failed");
  });

  test.each([
    ["SELECT v FROM src WHERE v = $1 -- a comment", [["b"]]],
    ["WITH x AS (SELECT v FROM src WHERE v = $1) SELECT * FROM x", [["b"]]],
    ["FROM src SELECT v WHERE v = $1", [["b"]]],
    ["(SELECT v FROM src WHERE v = $1) UNION ALL (SELECT 'c') ORDER BY 1 ASC LIMIT 1", [["b"]]],
    ["VALUES ($1)", [["b"]]],
    ["SELECT NULL::VARCHAR AS n, $1::VARCHAR AS b", [[null, "b"]]],
  ])("values stay beside the query: %s", async (sql, rows) => {
    await using s = await testStore(SOURCE);
    const query = [statement(sql, { type: "VARCHAR", value: "b" })];
    for (const mode of [FULL, { kind: "merge", cursor: "b", primaryKey: ["b"] } as const]) {
      if (mode.kind === "merge" && !sql.includes("AS b")) continue;
      expect(await s.rowsOf(await s.refresh(definitionOf(query, { mode })))).toEqual(rows);
    }
  });

  test.each([
    ["PIVOT src ON v USING sum(c)::INTEGER GROUP BY k", "k,a,b"],
    ["UNPIVOT (SELECT k, c FROM src) ON k, c", "name,value"],
    ["SUMMARIZE src", expect.stringMatching(/^column_name,/)],
    ["TABLE src", "k,c,v"],
    ["SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS A, 5 AS a", "a,a_2,a_1,A_3,a_4"],
    ['SELECT 1 AS "É", 2 AS "é", 3 AS "a""b", 4 AS "A""B", 5 AS " "', 'É,é,a"b,A"B_1, '],
  ])("any query, with names that a table can have: %s", async (sql, names) => {
    await using s = await testStore(SOURCE);
    const { name, physicalTable } = await s.refresh(definitionOf(sql));
    const { columns } = await s.t.read({ statements: `SELECT * FROM cache.${name.schema}.${physicalTable} LIMIT 0` });
    expect(columns.join(",")).toEqual(names);
  });

  test("templates see ids, times and the largest cursor value, but not at the first fill", async () => {
    await using s = await testStore(SOURCE);
    const seen: RefreshVariables[] = [];
    const definition = definitionOf(
      (variables) => {
        seen.push(variables);
        return QUERY;
      },
      { mode: APPEND },
    );
    const real = (): RefreshVariables[] =>
      seen.filter(({ snapshotTimestamp }) => !snapshotTimestamp.startsWith("1970"));
    const first = await s.refresh(definition);
    await s.t.sql("INSERT INTO src VALUES (3, 30, 'c')");
    const second = await s.refresh(definition);
    expect(real()).toEqual([
      {
        snapshotId: 1,
        snapshotTimestamp: new Date(first.createdAtMs).toISOString(),
        previousSnapshotId: undefined,
        previousSnapshotTimestamp: undefined,
      },
      {
        snapshotId: 2,
        snapshotTimestamp: new Date(second.createdAtMs).toISOString(),
        previousSnapshotId: 1,
        previousSnapshotTimestamp: "20",
      },
    ]);
  });

  test("the mark is the text that DuckDB writes", async () => {
    await using s = await testStore();
    const marks: unknown[] = [];
    const mode = { kind: "append", cursor: "C" } as const;
    const definition = definitionOf(
      ({ previousSnapshotTimestamp }) => {
        marks.push(previousSnapshotTimestamp);
        return "SELECT TIMESTAMP '2024-02-29 12:30:00.000001' AS c";
      },
      { mode },
    );
    await s.refresh(definition);
    marks.length = 0;
    await s.refresh(definition);
    expect(marks).toContain("2024-02-29 12:30:00.000001");
  });
});

describe("append", () => {
  const definition = definitionOf(QUERY, { mode: APPEND });

  test("adds what lies beyond the mark, and at the mark what is not there yet", async () => {
    await using s = await testStore(SOURCE);
    await s.refresh(definition);
    await s.t.sql(`INSERT INTO src VALUES (3, 20, 'late at the mark'), (2, 20, 'b'), (4, 30, 'beyond'), (5, 15, 'too late'),
      (6, NULL, 'no cursor'), (6, NULL, 'no cursor')`);
    const again = [
      [1, 10, "a"],
      [2, 20, "b"],
      [2, 20, "b"],
      [3, 20, "late at the mark"],
      [4, 30, "beyond"],
      [6, null, "no cursor"],
      [6, null, "no cursor"],
    ];
    expect(await s.rowsOf(await s.refresh(definition))).toEqual(again);
    // Nothing is doubled when nothing has happened.
    expect(await s.rowsOf(await s.refresh(definition))).toEqual(again);
  });

  test("a template may leave out what is cached already", async () => {
    await using s = await testStore(SOURCE);
    const beyond = definitionOf(
      ({ previousSnapshotTimestamp: mark }) => [
        mark === undefined
          ? statement(QUERY)
          : statement(`${QUERY} WHERE c >= $1::INTEGER`, { type: "VARCHAR", value: mark }),
      ],
      { mode: APPEND },
    );
    await s.refresh(beyond);
    await s.t.sql("DELETE FROM src WHERE k = 1; INSERT INTO src VALUES (3, 30, 'c')");
    expect(await s.rowsOf(await s.refresh(beyond))).toEqual([
      [1, 10, "a"],
      [2, 20, "b"],
      [3, 30, "c"],
    ]);
  });

  test("to an empty cache, and to one that has no cursor values", async () => {
    await using s = await testStore("CREATE TABLE src (k INTEGER, c INTEGER, v VARCHAR)");
    expect((await s.refresh(definition)).rows).toBe(0);
    await s.t.sql("INSERT INTO src VALUES (1, NULL, 'x')");
    expect((await s.refresh(definition)).rows).toBe(1);
    await s.t.sql("INSERT INTO src VALUES (1, NULL, 'x'), (2, -5, 'y')");
    expect((await s.refresh(definition)).rows).toBe(3);
    expect((await s.refresh(definition)).rows).toBe(3);
  });

  test("rows of every type are compared", async () => {
    const types = "* EXCLUDE (int), int AS c, {'a': [1, NULL]}::VARIANT AS variant, 'POINT (1 2)'::GEOMETRY AS point";
    await using s = await testStore();
    const all = definitionOf(`SELECT ${types} FROM test_all_types()`, { mode: APPEND });
    expect((await s.refresh(all)).rows).toBe(3);
    expect((await s.refresh(all)).rows).toBe(3);
  });
});

describe("merge", () => {
  test("each row replaces the one with its key, others stay", async () => {
    await using s = await testStore(SOURCE);
    const definition = definitionOf(QUERY, { mode: MERGE });
    await s.refresh(definition);
    await s.t.sql(`DELETE FROM src; INSERT INTO src VALUES (2, 5, 'a late update wins'), (3, 30, 'old'), (3, 40, 'new'),
      (3, NULL, 'no cursor'), (NULL, 1, 'no key'), (4, 7, 'first'), (4, 7, 'last of equals')`);
    expect(await s.rowsOf(await s.refresh(definition))).toEqual([
      [1, 10, "a"],
      [2, 5, "a late update wins"],
      [3, 40, "new"],
      [4, 7, "last of equals"],
      [null, 1, "no key"],
    ]);
    await s.t.sql("DELETE FROM src; INSERT INTO src VALUES (NULL, 0, 'still no key')");
    expect((await s.rowsOf(await s.refresh(definition))).at(-1)).toEqual([null, 0, "still no key"]);
    expect((await s.store.load()).at(-1)?.rows).toBe(5);
  });

  test("by several keys, one row for each already at the first fill", async () => {
    await using s = await testStore();
    const mode = { kind: "merge", cursor: "c", primaryKey: ["K", "j"] } as const;
    const definition = definitionOf(
      "SELECT * FROM (VALUES (1, NULL, 1), (1, NULL, 3), (1, 'x', 2), (1, 'x', NULL)) v(k, j, c)",
      { mode },
    );
    for (const _ of [1, 2]) {
      expect(await s.rowsOf(await s.refresh(definition))).toEqual([
        [1, "x", 2],
        [1, null, 3],
      ]);
    }
  });
});

describe("all rows are rebuilt, with no previous values in the template,", () => {
  const changes: readonly [string, ReturnType<typeof definitionOf>, unknown][] = [
    ["when a column is new", definitionOf("SELECT k, c, v, 1 AS x FROM src", { mode: APPEND }), 3],
    ["when a column has another type", definitionOf("SELECT k::BIGINT AS k, c, v FROM src", { mode: APPEND }), 3],
    ["when columns have another order", definitionOf("SELECT c, k, v FROM src", { mode: APPEND }), 3],
    ["when the mode is another", definitionOf(QUERY, { mode: MERGE }), 2],
    ["when the cursor is another", definitionOf(QUERY, { mode: { kind: "append", cursor: "k" } }), 3],
    ["when the query is another", definitionOf(`${QUERY} WHERE true`, { mode: APPEND }), 3],
    ["but not when all is as it was", definitionOf(QUERY, { mode: APPEND }), 2],
  ];
  test.each(changes)("%s", async (_, definition, rows) => {
    await using s = await testStore(SOURCE);
    await s.refresh(definitionOf(QUERY, { mode: APPEND }));
    await s.t.sql("INSERT INTO src VALUES (1, 10, 'too late to be appended')");
    const snapshot = await s.refresh(definition);
    expect([snapshot.id, snapshot.rows]).toEqual([2, rows]);
  });

  test("when the columns of a table behind the same query have changed", async () => {
    await using s = await testStore(SOURCE);
    const seen: unknown[] = [];
    const definition = definitionOf(
      ({ previousSnapshotId, snapshotTimestamp }) => {
        if (!snapshotTimestamp.startsWith("1970")) seen.push(previousSnapshotId);
        return "CREATE TEMP TABLE x AS FROM src; FROM x";
      },
      { mode: APPEND },
    );
    await s.refresh(definition);
    await s.t.sql("ALTER TABLE src ADD COLUMN w INTEGER; INSERT INTO src VALUES (0, 0, '', 0)");
    const snapshot = await s.refresh(definition);
    expect([snapshot.id, snapshot.rows, seen]).toEqual([2, 3, [undefined, 1, undefined]]);
  });

  test("when no snapshot is known, or its table is gone", async () => {
    await using s = await testStore(SOURCE);
    const definition = definitionOf(QUERY, { mode: APPEND });
    const first = await s.refresh(definition);
    await s.t.sql("INSERT INTO src VALUES (0, 0, '')");
    const second = await s.store.refresh(definition, undefined, never());
    expect([second.id, second.rows]).toEqual([2, 3]);
    await s.t.sql(`DROP TABLE cache.s.${second.physicalTable}; INSERT INTO src VALUES (0, 0, '')`);
    expect((await s.store.refresh(definition, second, never())).rows).toBe(4);
    expect(await s.rowsOf(first)).toHaveLength(2);
  });
});

describe("a template that changes its own table", () => {
  const template = ({ previousSnapshotTimestamp: mark }: RefreshVariables): string =>
    mark === undefined
      ? `CREATE TABLE cache.s.t AS ${QUERY}`
      : `INSERT INTO cache.s.t ${QUERY} WHERE c > ${mark}; DELETE FROM cache.s.t WHERE c < ${mark}`;
  const definition = ownDefinitionOf(template, { mode: APPEND });

  test("is run as it is, and the table is the snapshot", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definition);
    expect([first.id, first.physicalTable, first.rows]).toEqual([1, "t", 2]);
    await s.t.sql("INSERT INTO src VALUES (3, 30, 'c')");
    const second = await s.refresh(definition);
    expect([second.id, second.physicalTable, second.rows]).toEqual([2, "t", 2]);
    expect(second.uid).not.toBe(first.uid);
    expect(await s.store.load()).toEqual([second]);
    // The one before is no more: to drop it leaves the table alone.
    await s.store.drop([first]);
    expect(await s.rowsOf(second)).toHaveLength(2);
    await expect(s.store.drop([second])).rejects.toThrow(
      "cannot drop snapshot 2 of the cache s.t: it is the current one",
    );
  });

  test("after a query, and the other way round", async () => {
    await using s = await testStore(SOURCE);
    const queried = await s.refresh(definitionOf(QUERY));
    const own = await s.refresh(definition);
    expect([own.id, await s.tables()]).toEqual([2, ["t", queried.physicalTable]]);
    expect(await s.rowsOf(queried)).toHaveLength(2);
    const again = await s.refresh(definitionOf(QUERY, { mode: APPEND }));
    expect(await s.store.load()).toEqual([queried, again]);
    expect(await s.rows("SELECT count(*) FROM cache.s.t")).toEqual([[2]]);
    await s.store.drop([queried, own]);
    expect(await s.tables()).toEqual(["t", again.physicalTable]);
  });

  test("all of it or nothing", async () => {
    await using s = await testStore(SOURCE);
    const first = await s.refresh(definition);
    const failing = ownDefinitionOf("DELETE FROM cache.s.t; SELECT error('boom')", { mode: APPEND });
    expect((await failureOf(s.refresh(failing))).failure).toEqual({
      kind: "query-failed",
      message: "Invalid Input Error: boom",
    });
    expect(await s.rowsOf(first)).toHaveLength(2);
    expect(await s.store.load()).toEqual([first]);
    const nothing = ownDefinitionOf("CREATE TEMP TABLE x AS SELECT 1", { name: { schema: "s", table: "u" } });
    expect((await failureOf(s.refresh(nothing))).failure).toMatchObject({ message: expect.stringContaining("u does") });
  });

  test("what was read of it before is not taken for what is there now", async () => {
    await using s = await testStore(SOURCE);
    await s.refresh(definition);
    const read = async (): Promise<unknown> => s.rows("SELECT sum(c)::INTEGER FROM cache.s.t WHERE c > 25");
    expect([await read(), await read()]).toEqual([[[null]], [[null]]]);
    await s.t.sql("INSERT INTO src VALUES (3, 30, 'c')");
    await s.refresh(definition);
    expect(await read()).toEqual([[30]]);
  });
});

test("a table that is not ours is left alone, and so is our own bookkeeping", async () => {
  await using s = await testStore(SOURCE);
  await s.t.sql("CREATE SCHEMA cache.s; CREATE TABLE cache.s.t AS SELECT 'mine' AS x");
  expect((await failureOf(s.refresh(definitionOf(QUERY)))).failure).toMatchObject({
    message: expect.stringContaining("t is of type Table"),
  });
  expect(await s.rows("SELECT x FROM cache.s.t")).toEqual([["mine"]]);
  for (const table of ["snapshots", "Refreshes", "layout"]) {
    const name = { schema: "Audit", table };
    expect((await failureOf(s.refresh(definitionOf(QUERY, { name })))).failure).toMatchObject({
      message: expect.stringContaining("reserved for a table of Eider"),
    });
  }
});

test("names of all kinds, and none is in the way of another", async () => {
  await using s = await testStore(SOURCE);
  const names: readonly CacheName[] = [
    { schema: "cache", table: "orders" },
    { schema: "main", table: "orders" },
    { schema: "cache", table: "a b" },
    { schema: "cache", table: "a-b" },
    { schema: "cache", table: "a_b" },
    { schema: 'q"s', table: 'say "hi"; DROP' },
    { schema: "Ünï", table: "naïve 🦆" },
    { schema: "cache", table: "1st" },
    { schema: "cache", table: "x".repeat(200) },
    { schema: "cache", table: `${"x".repeat(199)}y` },
    { schema: "audit", table: "mine" },
    { schema: "select", table: "table" },
    { schema: "CaPs", table: "Table__1_0000000000000000" },
  ];
  const made: Snapshot[] = [];
  for (const [index, name] of names.entries()) {
    made.push(await s.refresh(definitionOf(`SELECT ${index} AS n`, { name })));
    made.push(await s.refresh(definitionOf(`SELECT ${index} AS n`, { name })));
  }
  expect(new Set(made.map(({ physicalTable }) => physicalTable)).size).toBe(made.length);
  for (const [index, name] of names.entries()) {
    const own = made.filter((snapshot) => snapshot.name === name);
    expect(own.map(({ id }) => id)).toEqual([1, 2]);
    for (const snapshot of own) {
      expect(snapshot.physicalTable).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/);
      expect(await s.rowsOf(snapshot)).toEqual([[index]]);
    }
    const view = [name.schema, name.table].map((part) => `"${part.replaceAll('"', '""')}"`).join(".");
    expect(await s.rows(`SELECT n FROM cache.${view}`)).toEqual([[index]]);
  }
  expect((await s.store.load()).length).toBe(made.length);
});

test("readers of the view see the swap, also where they have read before", async () => {
  await using s = await testStore(`${SOURCE}`);
  const name = { schema: "s", table: 'a "quoted" name' };
  const definition = definitionOf("SELECT max(c)::INTEGER AS m FROM src", { name });
  const sql = 'SELECT m FROM cache.s."a ""quoted"" name"';
  const valued = [statement(`${sql} WHERE m > $1`, { type: "BIGINT", value: 0n })];
  for (const c of [20, 30, 40, 50]) {
    await s.t.sql(`INSERT INTO src VALUES (9, ${c}, '')`);
    await s.refresh(definition);
    for (const _ of [1, 2]) {
      expect(await s.rows(sql)).toEqual([[c]]);
      expect((await s.t.read({ statements: valued })).rows).toEqual([[c]]);
    }
  }
});

test("a refresh invalidates watched reads of its table, and no others", async () => {
  await using s = await testStore(SOURCE);
  const watched = async (sql: string): Promise<() => boolean> => {
    for (;;) {
      const rows = await s.t.engine.read(readOf({ statements: sql }));
      const data = await rows.watch();
      await rows.close();
      if (data !== undefined) return data.isUnchanged;
    }
  };
  const definition = definitionOf(QUERY, { name: { schema: "s", table: "orders" } });
  await s.refresh(definition);
  const other = await s.refresh(definitionOf(QUERY, { name: { schema: "s", table: "customers" } }));
  const reads = [
    "cache.s.orders",
    "cache.audit.snapshots",
    `cache.s.${other.physicalTable}`,
    "cache.s.customers",
    "src",
  ];
  const watches: (() => boolean)[] = [];
  for (const table of reads) watches.push(await watched(`SELECT count(*) FROM ${table}`));
  const answers = (): readonly boolean[] => watches.map((isUnchanged) => isUnchanged());
  expect(answers()).toEqual([true, true, true, true, true]);
  await s.store.load();
  await failureOf(s.refresh(definitionOf("SELECT error('no')", { name: definition.name })));
  expect(answers()).toEqual([true, true, true, true, true]);
  await s.refresh(definition);
  expect(answers()).toEqual([false, false, true, true, true]);
});
