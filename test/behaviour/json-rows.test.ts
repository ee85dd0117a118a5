import { beforeAll, expect, test } from "vitest";
import { type JsonDatabase, openJsonDatabase } from "./json-rows.ts";

let database: JsonDatabase;
beforeAll(async () => {
  database = await openJsonDatabase();
  await database.run(`
    CREATE TABLE base AS SELECT
      i,
      'text number ' || i || repeat('x', (i * 7 % 60)::INTEGER) AS s,
      CASE WHEN i % 5 = 0 THEN NULL ELSE 'k' || (i % 50) END AS k,
      CASE WHEN i % 7 = 0 THEN NULL ELSE [i, NULL, i + 1] END AS l,
      CASE WHEN i % 3 = 0 THEN NULL ELSE {'a': i, 'b': 'a longer text ' || i, 'c': ['x' || i, NULL, 'yyyyyyyyyyyyyy' || i]} END AS st
    FROM range(2500) t(i)`);
});

test("a page is wrapped in an envelope", async () => {
  const page = { kind: "page", next: '/a?q="x"&offset=2', total: 7 } as const;
  expect(await database.json("SELECT * FROM range(2) t(n)", page)).toBe(
    '{"data":[{"n":0},{"n":1}],"next":"/a?q=\\"x\\"&offset=2","total_count":7}',
  );
  expect(await database.json("SELECT 1 AS n WHERE false", { ...page, next: "" })).toBe(
    '{"data":[],"next":"","total_count":7}',
  );
});

test("a write returns its rows and their number", async () => {
  expect(await database.json("SELECT 1 AS n", { kind: "write", rowsAffected: 3, returns: "many" })).toBe(
    '{"rows_affected":3,"data":[{"n":1}]}',
  );
  expect(await database.json("SELECT 1 AS n, 2 AS m", { kind: "write", rowsAffected: 3, returns: "one" })).toBe(
    '{"rows_affected":3,"data":{"n":1,"m":2}}',
  );
  expect(await database.json("SELECT 1 AS n, 2 AS m", { kind: "one" })).toBe('{"n":1,"m":2}');
});

test("no rows are an empty array", async () => {
  expect(await database.json("SELECT 1 AS n WHERE false")).toBe("[]");
});

test("columns keep their order and duplicate names get numbers", async () => {
  expect(await database.json('SELECT 1 AS z, 2 AS a, 3 AS a, 4 AS a_1, 5 AS a, 6 AS "10", 7 AS "1"')).toBe(
    '[{"z":1,"a":2,"a_2":3,"a_1":4,"a_3":5,"10":6,"1":7}]',
  );
});

test.each([
  'quote"',
  "back\\slash",
  "new\nline",
  "`$1`",
  "a');process.exit();('",
  "\u2028é🦆",
  "__proto__",
  "x".repeat(3000),
])("a column may be called %j", async (name) => {
  const quoted = `"${name.replaceAll('"', '""')}"`;
  expect(await database.json(`SELECT 1 AS ${quoted}, {${quoted}: 2} AS s`)).toBe(
    `[{${JSON.stringify(name)}:1,"s":{${JSON.stringify(name)}:2}}]`,
  );
});

test("rows cross the borders of chunks", async () => {
  const expected = Array.from({ length: 2049 }, (_, n) => ({ n, s: `text of row number ${n}` }));
  const sql = "SELECT n, 'text of row number ' || n AS s FROM range(2049) t(n)";
  expect(JSON.parse(await database.json(sql))).toEqual(expected);
  expect(JSON.parse(await database.streamedJson(sql))).toEqual(expected);
});

test("long texts, plain and all escapes", async () => {
  const rows = await database.json(
    `SELECT repeat('ab', 500000) AS plain, repeat('"', 1000000) AS quotes, repeat('é', 4) AS short`,
  );
  expect(JSON.parse(rows)).toEqual([{ plain: "ab".repeat(500_000), quotes: '"'.repeat(1_000_000), short: "éééé" }]);
});

test("texts of every length around the borders of slots and words", async () => {
  const rows = JSON.parse(
    await database.json(`SELECT repeat('x', n::INTEGER) || '"' AS a, repeat('é', n::INTEGER) AS b FROM range(40) t(n)`),
  );
  expect(rows).toEqual(Array.from({ length: 40 }, (_, n) => ({ a: `${"x".repeat(n)}"`, b: "é".repeat(n) })));
});

test("wide lists in every row outgrow the first guess of the size", async () => {
  const rows = JSON.parse(
    await database.json("SELECT range(5000) AS l, [{'a': 'constant text of some length'}] AS c FROM range(50)"),
  );
  expect(rows).toHaveLength(50);
  expect(rows[49].l).toHaveLength(5000);
  expect(rows[49].c).toEqual([{ a: "constant text of some length" }]);
});

const EXPRESSIONS = [
  "s",
  "'a constant text, too long for a slot'",
  "l",
  "st",
  "st.c",
  "list_transform(l, x -> x * 2)",
  "list_filter(l, x -> x IS NOT NULL)",
  "st.c[2:3]",
  "list_select(st.c, [3, 1])",
  "[s, k, 'constant']",
  "{'x': k, 'y': l, 'z': st}",
  "MAP {'k': s, 'j': k}",
  "list_resize(st.c, 5)",
  "list_reverse(st.c)",
  "CASE WHEN i % 2 = 0 THEN st END",
  "CASE WHEN i % 2 = 0 THEN l END",
  "array_value(s, k, 'c')",
  "{'a': array_value(s, k)}",
  "list_zip(l, st.c)",
  "unnest(st.c)",
  "struct_insert(st, d := s)",
];

const SOURCES = [
  "base",
  "base WHERE i % 11 = 3",
  "(SELECT * FROM base ORDER BY hash(i))",
  "(SELECT * FROM base LIMIT 1500 OFFSET 1000)",
  "base JOIN (SELECT i AS j FROM base WHERE i % 3 = 0) ON i = j",
  "base, range(2) r(n)",
  "(SELECT b.* FROM range(50) r(n) LEFT JOIN base b ON b.i = r.n * 150)",
  "(SELECT i, lag(s) OVER (ORDER BY i) AS s, lag(k) OVER (ORDER BY i) AS k, lag(l, 3) OVER (ORDER BY i) AS l, lag(st) OVER (ORDER BY i) AS st FROM base)",
];

test.each(SOURCES)("every kind of vector that a query makes is read right: FROM %s", async (source) => {
  for (const expression of EXPRESSIONS) {
    const sql = `SELECT ${expression} AS x FROM ${source}`;
    const expected = await database.json(`SELECT to_json(x) AS x FROM (${sql})`);
    for (const document of [await database.json(sql), await database.streamedJson(sql)]) {
      // Without ORDER BY the order is the database's.
      if (document !== expected) expect(sortedRows(document), sql).toEqual(sortedRows(expected));
    }
  }
});

function sortedRows(document: string): string[] {
  const rows: unknown[] = JSON.parse(document);
  return rows.map((row) => JSON.stringify(row)).sort();
}
