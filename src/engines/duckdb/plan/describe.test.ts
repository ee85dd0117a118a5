import { expect, test } from "vitest";
import { statement, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import type { BoundValue } from "../../../sql/statement.ts";

const TABLES = "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, day DATE, price DECIMAL(12, 2))";
const TEXT: BoundValue = { type: "VARCHAR", value: "it's" };
const WHOLE: BoundValue = { type: "BIGINT", value: 1n };

/** `name: kind` of each column. */
async function described(sqls: readonly string[], ...values: readonly BoundValue[]): Promise<string | undefined> {
  await using t = await testEngine(TABLES);
  const statements = sqls.map((sql) => statement(sql, ...(sql.includes("$1") ? values : [])));
  const columns = await t.engine.describe(statements);
  // Whatever was described, nothing was run.
  expect((await t.read({ statements: "SELECT count(*) FROM t" })).rows).toEqual([[0]]);
  return columns?.map(({ name, type }) => `${name}: ${type.kind}${"bits" in type ? type.bits : ""}`).join(", ");
}

const ALL = "id: integer32, name: text, day: date, price: decimal64";

test.each<[sql: string, values: readonly BoundValue[], columns: string | undefined]>([
  ["SELECT * FROM t", [], ALL],
  ["FROM t -- all of $1 of them", [], ALL],
  ["SELECT * FROM t WHERE id = $1 /* $2 */", [WHOLE], ALL],
  ["SELECT 1 AS a, 2 AS a", [], "a: integer32, a_1: integer32"],
  // What a value is, the column is.
  ["SELECT $1 AS v", [TEXT], "v: text"],
  ["SELECT $1 AS v", [WHOLE], "v: integer64"],
  ["SELECT $1 AS v", [{ type: "BOOLEAN", value: true }], "v: boolean"],
  ["SELECT $1 AS v", [{ type: "DATE", value: "2024-01-01" }], "v: date"],
  ["SELECT $1 AS v", [{ type: "TIME", value: "12:00:00" }], "v: time"],
  ["SELECT $1 AS v", [{ type: "DOUBLE", value: "1e0" }], "v: float64"],
  ["SELECT id + $1 AS v FROM t", [WHOLE], "v: integer64"],
  ["SELECT coalesce($1, id) AS v FROM t", [WHOLE], "v: integer64"],
  ["SELECT coalesce($1, id) AS v FROM t", [TEXT], "v: integer32"],
  ["SELECT coalesce($1, day) AS v FROM t", [TEXT], "v: date"],
  ["SELECT $1 || id AS v FROM t", [WHOLE], "v: text"],
  ["SELECT id FROM t WHERE day >= $1 LIMIT $2 OFFSET $2", [TEXT, WHOLE], "id: integer32"],
  ["SELECT '$1' AS \"$1\", $$ $1 $$ AS b, $1 AS c", [WHOLE], "$1: text, b: text, c: integer64"],
  ["SELECT range AS n FROM range($1)", [WHOLE], "n: integer64"],
  // Statements of other kinds.
  [
    "PRAGMA table_info('t')",
    [],
    "cid: integer32, name: text, type: text, notnull: boolean, dflt_value: text, pk: boolean",
  ],
  ["CALL pragma_version()", [], "library_version: text, source_id: text, codename: text"],
  ["INSERT INTO t VALUES (1, $1, NULL, NULL)", [TEXT], ""],
  ["INSERT INTO t VALUES (1, $1, NULL, NULL) RETURNING *", [TEXT], ALL],
  ['UPDATE t SET name = $1 RETURNING id AS "Count"', [TEXT], "Count: integer32"],
  ["DELETE FROM t RETURNING id", [], "id: integer32"],
  [
    "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING merge_action, t.id",
    [],
    "merge_action: text, id: integer32",
  ],
  ["CREATE TABLE u AS SELECT 1", [], ""],
  ["SET VARIABLE x = 1", [], ""],
  // What cannot be known.
  ["SELECT * FROM missing", [], undefined],
  ["SELECT * FROM read_csv($1)", [TEXT], undefined],
  ["PIVOT t ON name USING count(*)", [], undefined],
  ["SELEC 1", [], undefined],
])("%s", async (sql, values, columns) => {
  expect(await described([sql], ...values)).toBe(columns);
});

test("nested types are told in full", async () => {
  await using t = await testEngine();
  const sql = "SELECT {'a': [1::UBIGINT], 'b': MAP {'x': 'y'::ENUM('y', 'z')}} AS s, '{}'::JSON AS j";
  expect(await t.engine.describe([statement(sql)])).toMatchObject([
    {
      name: "s",
      type: {
        kind: "struct",
        fields: [
          { name: "a", type: { kind: "list", item: { kind: "integer", bits: 64, signed: false } } },
          { name: "b", type: { kind: "map", key: { kind: "text" }, value: { kind: "enum", values: { length: 2 } } } },
        ],
      },
    },
    { name: "j", type: { kind: "json" } },
  ]);
});

test.each<[sqls: readonly string[], columns: string | undefined]>([
  [
    ["CREATE TEMP TABLE x AS SELECT error('run') AS e, 1 AS a FROM t", "SELECT a, e FROM x"],
    "a: integer32, e: integer32",
  ],
  [["INSERT INTO t VALUES (1, 'x', NULL, NULL)", "SELECT day FROM t"], "day: date"],
  [["INSERT INTO t VALUES (1, 'x', NULL, NULL) RETURNING id", "UPDATE t SET name = 'y'"], ""],
  // The type of a variable is known when it is set, and it is not.
  [["SET VARIABLE x = 'text'", "SELECT getvariable('x') AS v"], undefined],
  [["ALTER TABLE t ALTER day TYPE VARCHAR", "SELECT day FROM t"], undefined],
  [["CREATE TABLE u AS SELECT 1 AS a", "SELECT a FROM u"], undefined],
])("of several statements the last: %j", async (sqls, columns) => {
  expect(await described(sqls)).toBe(columns);
  expect(await described(sqls)).toBe(columns);
});

test("no statement has no columns that could be known", async () => {
  await using t = await testEngine();
  expect(await t.engine.describe([])).toBeUndefined();
});

test("what is described is what is read", async () => {
  await using t = await testEngine();
  const signal = new AbortController().signal;
  const statements = [statement("SELECT * FROM test_all_types()")];
  const rows = await t.engine.read({ connections: [], statements, window: undefined, totalOf: undefined, signal });
  const read = JSON.stringify(rows.columns);
  await rows.close();
  expect(rows.columns.length).toBeGreaterThan(50);
  expect(JSON.stringify(await t.engine.describe(statements))).toBe(read);
});

test.each([
  [
    "SELECT * FROM t WHERE id = $1 AND name = $2 AND day > $3 AND price < $4 LIMIT $5",
    "integer text date decimal integer",
  ],
  ["SELECT CAST($1 AS TIMESTAMP)", "timestamp"],
  ["UPDATE t SET name = $1 WHERE id = $2", "text integer"],
  ["SELECT id + $1 FROM t", "unknown"],
  ["SELECT 1", ""],
  ["SELECT * FROM nowhere WHERE id = $1", ""],
])("the values that %j expects: %s", async (sql, expected) => {
  await using t = await testEngine(TABLES);
  const types = await t.engine.parameterTypes(sql);
  expect(types.map((type) => type?.kind ?? "unknown").join(" ")).toBe(expected);
});
