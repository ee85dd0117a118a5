import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { python, testWithPython } from "../../../../test/python.ts";
import { readOf, type TestEngine, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { readParquet } from "../../../../test/suites/parquet-file.ts";

let folder: string;
let t: TestEngine;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  t = await testEngine();
});
afterAll(async () => {
  await t[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function fileOf(sql: string): Promise<string> {
  const path = join(folder, String(count++));
  await t.engine.readIntoFile(readOf({ statements: sql }), { kind: "parquet", path });
  return path;
}

const written = async (sql: string) => readParquet(await fileOf(sql));

/** What a column of test_all_types() is in the file, where that is not the value as it is. */
const CONVERTED: Readonly<Record<string, readonly (string | null)[]>> = {
  time_tz: ["00:00:00+15:59:59", "24:00:00-15:59:59", null],
  interval: ["PT0S", "P83Y3M999DT16M39.999999S", null],
  union: ["{'name': Frank, 'age': NULL}", "{'name': NULL, 'age': 5}", null],
};

test("every value of test_all_types() is in the file, to the last digit", async () => {
  const { names, rows } = await written("FROM test_all_types()");
  const texts = await written("SELECT COLUMNS(*)::VARCHAR FROM test_all_types()");
  expect(names).toEqual(texts.names);
  names.forEach((name, index) => {
    const column = rows.map((row) => row[index]);
    expect([name, column]).toEqual([name, CONVERTED[String(name)] ?? texts.rows.map((row) => row[index])]);
  });
  expect(names.length).toBeGreaterThan(50);
});

test.each([
  ["1::HUGEINT", "DECIMAL(38,0)", "1"],
  ["-99999999999999999999999999999999999999::HUGEINT", "DECIMAL(38,0)", "-99999999999999999999999999999999999999"],
  ["170141183460469231731687303715884105727::HUGEINT", "VARCHAR", "170141183460469231731687303715884105727"],
  ["340282366920938463463374607431768211455::UHUGEINT", "VARCHAR", "340282366920938463463374607431768211455"],
  ["[1::HUGEINT, NULL]", "DECIMAL(38,0)[]", "[1, NULL]"],
  ["array_value(1::HUGEINT, 2)", "DECIMAL(38,0)[]", "[1, 2]"],
  ["[[{'a': [170141183460469231731687303715884105727::HUGEINT]}]]", "STRUCT(a VARCHAR[])[][]", undefined],
  ["{'a b': 2::UHUGEINT, 'c': 1}", 'STRUCT("a b" DECIMAL(38,0), c INTEGER)', "{'a b': 2, 'c': 1}"],
  ["MAP {'k': 3::HUGEINT}", "MAP(VARCHAR, DECIMAL(38,0))", "{k=3}"],
  ["MAP {4::HUGEINT: INTERVAL '1 day'}", "MAP(DECIMAL(38,0), VARCHAR)", "{4=P1D}"],
  ["NULL::MAP(INT, HUGEINT)", "MAP(INTEGER, DECIMAL(38,0))", null],
  ["NULL::STRUCT(a HUGEINT)", "STRUCT(a DECIMAL(38,0))", null],
  ["NULL::HUGEINT[]", "DECIMAL(38,0)[]", null],
  ["row(1, 'x')", "STRUCT(f1 INTEGER, f2 VARCHAR)", "{'f1': 1, 'f2': x}"],
  ["[union_value(n := 1::HUGEINT)]", "STRUCT(n DECIMAL(38,0))[]", "[{'n': 1}]"],
  ["NULL::UNION(n INT)", "STRUCT(n INTEGER)", null],
  ["INTERVAL '-1.5 seconds'", "VARCHAR", "PT-1.500000S"],
  ["INTERVAL '-13 months 40 days -100:59:59.000001'", "VARCHAR", "P-1Y-1M40DT-100H-59M-59.000001S"],
  ["INTERVAL '1 month -30 days'", "VARCHAR", "P1M-30D"],
  ["INTERVAL '61 minutes'", "VARCHAR", "PT1H1M"],
  ["NULL::INTERVAL", "VARCHAR", null],
  ["'12:00:00+00'::TIMETZ", "VARCHAR", "12:00:00Z"],
  ["'12:00:00.5+01'::TIMETZ", "VARCHAR", "12:00:00.500000+01:00"],
  ["'00:00:00-00:30'::TIMETZ", "VARCHAR", "00:00:00-00:30"],
  ["NULL::TIMETZ", "VARCHAR", null],
  ["'12:00:00'::TIME_NS", "VARCHAR", "12:00:00"],
  ["'12:00:00.5'::TIME_NS", "VARCHAR", "12:00:00.500000000"],
  ["NULL::TIME_NS", "VARCHAR", null],
  ["'2020-02-29 12:00:00'::TIMESTAMP_S", "TIMESTAMP", "2020-02-29 12:00:00"],
  ["'-infinity'::TIMESTAMP_S", "TIMESTAMP", "-infinity"],
  ["'infinity'::TIMESTAMP_MS", "TIMESTAMP", "infinity"],
  ["'infinity'::TIMESTAMP_NS", "TIMESTAMP_NS", "infinity"],
  ["'infinity'::DATE", "DATE", "infinity"],
  ["'-infinity'::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "-infinity"],
  ["'nan'::DOUBLE", "DOUBLE", "nan"],
  ["'-inf'::FLOAT", "FLOAT", "-inf"],
  ["{'a': [1.50::DECIMAL(9,2), NULL]}::VARIANT", "JSON", '{"a":[1.50,null]}'],
  ["170141183460469231731687303715884105727::HUGEINT::VARIANT", "JSON", "170141183460469231731687303715884105727"],
  ["NULL::VARIANT", "JSON", null],
  [`'{"a": 1.10}'::JSON`, "JSON", '{"a": 1.10}'],
  ["'null'::JSON", "JSON", "null"],
  ["['x'::ENUM('x')]", "VARCHAR[]", "[x]"],
  ["['010'::BIT]", "VARCHAR[]", "[010]"],
  ["[9::BIGNUM]", "VARCHAR[]", "[9]"],
  ["[]", "INTEGER[]", "[]"],
  ["NULL", "INTEGER", null],
  ["MAP {}", "MAP(INTEGER, INTEGER)", "{}"],
])("%s is %s", async (value, type, text) => {
  const file = await written(`SELECT ${value} AS v`);
  expect(file.types).toEqual([type]);
  if (text !== undefined) expect(file.rows).toEqual([[text]]);
});

test("one number too wide makes texts of all, with every row", async () => {
  const { types, rows } = await written(
    "SELECT sum(i) AS s, max(CASE WHEN i = 99999 THEN 170141183460469231731687303715884105727 ELSE i END) AS m FROM range(100000) r(i) GROUP BY i ORDER BY i",
  );
  expect(types).toEqual(["VARCHAR", "VARCHAR"]);
  expect([rows.length, rows[0], rows.at(-1)]).toEqual([
    100_000,
    ["0", "0"],
    ["99999", "170141183460469231731687303715884105727"],
  ]);
});

const PYARROW = `
import sys, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
table.validate(full=True)
for field in table.schema:
    cell = table.column(field.name)[0]
    print(field.name, field.type, cell.value if str(field.type) == "timestamp[ns]" else cell.as_py(), sep=" | ")
`;

testWithPython("pyarrow")("other readers see numbers, texts and names", async () => {
  const path = await fileOf(`SELECT 12345678901234567890123456789::HUGEINT AS huge, row(1, 2) AS "row",
    union_value(n := 1) AS "union", INTERVAL '1 day 0.5 seconds' AS lasts, '{}'::JSON AS json, [1]::VARIANT AS variant,
    'x'::ENUM('x') AS enum, '2020-02-29 12:00:00.000000001'::TIMESTAMP_NS AS ns, 1.10::DECIMAL(9,2) AS price`);
  expect(python(PYARROW, "", [path]).trim().split("\n")).toEqual([
    "huge | decimal128(38, 0) | 12345678901234567890123456789",
    "row | struct<f1: int32, f2: int32> | {'f1': 1, 'f2': 2}",
    "union | struct<n: int32> | {'n': 1}",
    "lasts | string | P1DT0.500000S",
    "json | extension<arrow.json> | {}",
    "variant | extension<arrow.json> | [1]",
    "enum | string | x",
    "ns | timestamp[ns] | 1582977600000000001",
    "price | decimal128(9, 2) | 1.10",
  ]);
});

testWithPython("pyarrow")("to others it is a sound file", async () => {
  // Arrow has no 24:00:00.
  const path = await fileOf("SELECT * REPLACE (least(time, '23:59:59.999999') AS time) FROM test_all_types()");
  const nulls = await fileOf(
    "SELECT {'a': [1, 2]::INT[2]} AS v, [[1, 2], NULL]::INT[2][2] AS w UNION ALL SELECT NULL, NULL",
  );
  const program = `import sys, pyarrow.parquet as pq
for path in sys.argv[1:]:
    table = pq.read_table(path)
    table.validate(full=True)
    print(table.shape)`;
  expect(python(program, "", [path, nulls]).trim()).toMatch(/^\(3, 5\d\)\n\(2, 2\)$/);
});
