import { expect, test } from "vitest";
import { answerOf, failureOf, pageOf, readOf, statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";

const NUMBERS = "CREATE TABLE t AS SELECT range AS id, 'n' || range AS name FROM range(250)";

test.each([
  { limit: 100, offset: 0, first: 0, rows: 100 },
  { limit: 100, offset: 200, first: 200, rows: 50 },
  { limit: 100, offset: 300, first: undefined, rows: 0 },
  { limit: 0, offset: 0, first: undefined, rows: 0 },
  { limit: 0, offset: 10, first: undefined, rows: 0 },
  { limit: 125, offset: 125, first: 125, rows: 125 },
  { limit: 250, offset: 0, first: 0, rows: 250 },
  { limit: 251, offset: 0, first: 0, rows: 250 },
  { limit: 1, offset: 249, first: 249, rows: 1 },
  { limit: 30_000, offset: 0, first: 0, rows: 250 },
  { limit: 30_000, offset: 240, first: 240, rows: 10 },
  { limit: 30_000, offset: 250, first: undefined, rows: 0 },
])(
  "page $limit, $offset has $rows rows and the total, whatever came before",
  async ({ limit, offset, first, rows }) => {
    await using t = await testEngine(NUMBERS);
    for (const query of [
      statement("SELECT * FROM t ORDER BY id"),
      statement("SELECT * FROM t WHERE id >= $1 ORDER BY id", { type: "BIGINT", value: 0n }),
      statement("SELECT * FROM t ORDER BY id LIMIT 250"),
      statement("SELECT * FROM t ORDER BY id OFFSET 0 -- all"),
      statement("/* c */ WITH q AS (FROM t) FROM q ORDER BY id"),
    ]) {
      // The second time it has learnt whether pages are full.
      for (const _ of [1, 2, 3]) {
        const answer = await answerOf(await t.engine.read(pageOf([query], limit, offset)));
        expect(answer.total).toBe(250);
        expect(answer.columns).toEqual(["id", "name"]);
        expect(answer.rows.length).toBe(rows);
        expect(answer.rows[0]?.[0]).toBe(first);
      }
    }
    expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
  },
);

test("a page without a total, and a window without a limit", async () => {
  await using t = await testEngine(NUMBERS);
  const ids = async (window: { limit: number | undefined; offset: number }): Promise<unknown> =>
    (await t.read({ statements: "SELECT id FROM t ORDER BY id LIMIT 20", window })).rows.flat();
  expect(await ids({ limit: 3, offset: 0 })).toEqual([0, 1, 2]);
  expect(await ids({ limit: 3, offset: 18 })).toEqual([18, 19]);
  for (const _ of [1, 2]) expect(await ids({ limit: undefined, offset: 17 })).toEqual([17, 18, 19]);
  expect(await ids({ limit: 50_000, offset: 18 })).toEqual([18, 19]);
});

test("large results are streamed whole, and cut at a large limit", async () => {
  await using t = await testEngine();
  const { rows } = await t.read({ statements: "SELECT range FROM range(40000)" });
  expect(rows.length).toBe(40_000);
  expect(rows.every(([value], index) => value === index)).toBe(true);
  const query = [statement("SELECT range FROM range(100000)")];
  const page = await answerOf(await t.engine.read(pageOf(query, 50_001, 30_000)));
  expect([page.rows.length, page.rows[0]?.[0], page.rows.at(-1)?.[0], page.total]).toEqual([
    50_001, 30_000, 80_000, 100_000,
  ]);
});

test("a query that was small and has grown is still read whole", async () => {
  await using t = await testEngine("CREATE TABLE g AS SELECT range FROM range(10)");
  const count = async (): Promise<number> => (await t.read({ statements: "FROM g" })).rows.length;
  expect([await count(), await count()]).toEqual([10, 10]);
  await t.sql("INSERT INTO g SELECT range FROM range(5000)");
  expect([await count(), await count()]).toEqual([5010, 5010]);
});

test.each([
  ["PRAGMA table_info('t')", ["cid", "name", "type", "notnull", "dflt_value", "pk"], 2],
  ["CALL pragma_table_info('t')", ["cid", "name", "type", "notnull", "dflt_value", "pk"], 2],
  ["DESCRIBE t", ["column_name", "column_type", "null", "key", "default", "extra"], 2],
  ["SHOW TABLES", ["name"], 1],
  ["EXPLAIN SELECT 1", ["explain_key", "explain_value"], 1],
  ["VALUES (1, 2), (3, 4)", ["col0", "col1"], 2],
  ["PIVOT (SELECT id % 3 AS k FROM t) ON k USING count(*)", ["0", "1", "2"], 1],
])("%s is read, paged and counted like any query", async (sql, columns, rows) => {
  await using t = await testEngine(NUMBERS);
  for (const _ of [1, 2]) {
    expect((await t.read({ statements: sql })).columns).toEqual(columns);
    expect((await t.read({ statements: sql })).rows.length).toBe(rows);
    const page = await t.engine.read(pageOf([statement(sql)], 1, 1));
    expect(page.total).toBe(rows);
    let found = 0;
    for (let chunk = await page.next(); chunk !== undefined; chunk = await page.next()) found += chunk.rows;
    expect(found).toBe(rows - 1);
  }
});

test("SUMMARIZE sees all rows, not those of the page", async () => {
  await using t = await testEngine(NUMBERS);
  const answer = await answerOf(
    await t.engine.read(pageOf([statement("SELECT count::VARCHAR FROM (SUMMARIZE SELECT id FROM t)")], 1)),
  );
  expect(answer.rows).toEqual([["250"]]);
  const rows = await t.engine.read(pageOf([statement("SUMMARIZE SELECT * FROM t")], 1));
  expect(rows.total).toBe(2);
  await rows.close();
});

test("column names are made unique, also past names that look made", async () => {
  await using t = await testEngine();
  const sql = "SELECT 1 AS a, 2 AS a, 3 AS a_1";
  const { columns } = await t.read({ statements: sql });
  expect(new Set(columns).size).toBe(3);
  expect((await answerOf(await t.engine.read(pageOf([statement(sql)], 10)))).columns).toEqual(columns);
});

test("leading statements run first, see the values, and leave nothing behind", async () => {
  await using t = await testEngine(NUMBERS, { maxConcurrentQueries: 1 });
  const statements = [
    statement("CREATE TEMP TABLE x AS SELECT * FROM t WHERE id < $1", { type: "BIGINT", value: 30n }),
    statement("SET VARIABLE secret = 'mine'"),
    statement("SELECT id, getvariable('secret') AS v FROM x ORDER BY id"),
  ];
  for (const _ of [1, 2, 3]) {
    const page = await answerOf(await t.engine.read(pageOf(statements, 10, 20)));
    expect([page.total, page.rows[0]]).toEqual([30, [20, "mine"]]);
    expect((await t.read({ statements })).rows.length).toBe(30);
    expect((await t.read({ statements: "SELECT getvariable('secret')" })).rows).toEqual([[null]]);
    const { failure } = await failureOf(t.read({ statements: "FROM x" }));
    expect(failure).toMatchObject({ kind: "query-failed" });
  }
});

test("a template that pages itself is counted by its other statement", async () => {
  await using t = await testEngine(NUMBERS);
  const sql = "SELECT id FROM t ORDER BY id LIMIT $1";
  for (const _ of [1, 2]) {
    const answer = await t.read({
      statements: [statement(sql, { type: "BIGINT", value: 5n })],
      totalOf: [statement(sql, { type: "BIGINT", value: null })],
    });
    expect([answer.rows.length, answer.total]).toEqual([5, 250]);
  }
  const leading = (limit: bigint | null) => [
    statement("CREATE TEMP TABLE x AS SELECT * FROM t LIMIT $1", { type: "BIGINT", value: limit }),
    statement("FROM x"),
  ];
  const answer = await t.read({ statements: leading(5n), totalOf: leading(null) });
  expect([answer.rows.length, answer.total]).toEqual([5, 250]);
});

test("a read changes nothing, whatever the statement", async () => {
  await using t = await testEngine("CREATE TABLE w AS SELECT 1 AS id");
  for (const sql of [
    "INSERT INTO w VALUES (2) RETURNING *",
    "DELETE FROM w",
    "WITH q AS (SELECT 3) INSERT INTO w FROM q",
  ]) {
    await (await t.engine.read(readOf({ statements: sql }))).close();
    await (await t.engine.read(pageOf([statement(sql)], 10))).close();
  }
  expect((await t.read({ statements: "FROM w" })).rows).toEqual([[1]]);
});

test("prepared statements follow changes of tables and views", async () => {
  await using t = await testEngine("CREATE TABLE a AS SELECT 1 AS x; CREATE VIEW v AS FROM a");
  const read = async (sql: string): Promise<unknown> => {
    const { columns, rows } = await answerOf(await t.engine.read(pageOf([statement(sql)], 10)));
    return { columns, rows };
  };
  expect(await read("FROM v")).toEqual({ columns: ["x"], rows: [[1]] });
  await t.sql("CREATE TABLE b AS SELECT 'y' AS y, 2 AS z; CREATE OR REPLACE VIEW v AS FROM b");
  expect(await read("FROM v")).toEqual({ columns: ["y", "z"], rows: [["y", 2]] });
  await t.sql("DROP TABLE a");
  expect((await failureOf(t.read({ statements: "FROM a" }))).failure).toMatchObject({ kind: "query-failed" });
  await t.sql("CREATE TABLE a AS SELECT 5 AS w");
  expect(await read("FROM a")).toEqual({ columns: ["w"], rows: [[5]] });
});

test("page and total come from one transaction during writes", async () => {
  await using t = await testEngine("CREATE TABLE s AS SELECT 0 AS batch, range AS n FROM range(10)");
  let writing = true;
  let batch = 0;
  const writer = (async () => {
    while (writing) {
      batch++;
      await t.sql(`INSERT INTO s SELECT ${batch}, range FROM range(10)`);
    }
  })();
  const query = [statement("SELECT (SELECT count(*) FROM s) AS seen, n FROM s")];
  try {
    for (let i = 0; i < 60; i++) {
      const limit = i % 3 === 0 ? 25_000 : 10;
      const { rows, total } = await answerOf(await t.engine.read(pageOf(query, limit, i % 5)));
      expect(rows[0]?.[0]).toBe(total);
      if (limit > 10) expect(rows.length).toBe((total ?? 0) - (i % 5));
    }
  } finally {
    writing = false;
    await writer;
  }
  expect(batch).toBeGreaterThan(5);
});

test("200 reads at once are answered, in any mixture", async () => {
  await using t = await testEngine(NUMBERS, { maxConcurrentQueries: 3 });
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const query = [statement("SELECT id FROM t WHERE id >= $1 ORDER BY id", { type: "BIGINT", value: BigInt(i) })];
      if (i % 2 === 0) return (await answerOf(await t.engine.read(pageOf(query, 10)))).rows[0]?.[0] === i;
      return (await t.read({ statements: query })).rows.length === 250 - i;
    }),
  );
  expect(answers.every((right) => right)).toBe(true);
  expect(t.engine.activity()).toEqual({ running: 0, waiting: 0 });
});
