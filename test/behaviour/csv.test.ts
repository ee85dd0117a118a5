import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { csv } from "../../src/formats/csv/csv.ts";
import { json } from "../../src/formats/json/json.ts";
import { python, testWithPython } from "../python.ts";
import { serviceFrom, type TestService } from "../service.ts";
import { openTextDatabase, sqlText, type TextDatabase } from "./text-rows.ts";

let database: TextDatabase;
let service: TestService;
let folder: string;

const endpoint = (name: string, yaml: string): string =>
  `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: memory\n${yaml}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-csv-"));
  database = await openTextDatabase();
  service = await serviceFrom({
    "types.yaml": endpoint("types", "with-pagination: false\n"),
    "types.sql": "SELECT * FROM test_all_types()",
    "empty.yaml": endpoint("empty", "with-pagination: false\n"),
    "empty.sql": `SELECT 1 AS a, 'x' AS "b,c" WHERE false`,
    "many.yaml": endpoint("many", "with-pagination: false\n"),
    "many.sql":
      "SELECT n, 'row, ' || n AS s, CASE WHEN n % 3 > 0 THEN repeat('x', n % 50) END AS t FROM range(5000) r(n)",
    "page.yaml": endpoint("page", ""),
    "page.sql": "SELECT n FROM range(3) r(n) ORDER BY n",
  });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

type Table = readonly (readonly (string | null)[])[];

/** By csv-parse: all records, the header too. A field without quotes and without text is NULL. */
function read(text: string): (string | null)[][] {
  // The answer has no option that would make it anything but records of these fields.
  return parse(text, {
    cast: (field, { quoting }) => (field === "" && !quoting ? null : field),
    record_delimiter: "\r\n",
  }) as (string | null)[][];
}

describe("through the service", () => {
  test("says what it is, and that it has a header", async () => {
    const answer = await service.get("/page?format=CSV&limit=2&offset=1");
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
    expect(await answer.text()).toBe("n\r\n1\r\n2\r\n");
    expect(answer.headers.get("x-total-count")).toBe("3");
  });

  test("no rows are a header", async () => {
    const answer = await service.get("/empty?format=csv");
    expect(await answer.text()).toBe('a,"b,c"\r\n');
  });

  test("rows cross the borders of chunks", async () => {
    const answer = await service.get("/many?format=csv");
    const text = await answer.text();
    expect(text.endsWith("\r\n")).toBe(true);
    const expected = Array.from({ length: 5000 }, (_, n) => [
      `${n}`,
      `row, ${n}`,
      n % 3 > 0 ? "x".repeat(n % 50) : null,
    ]);
    expect(read(text)).toEqual([["n", "s", "t"], ...expected]);
  });
});

const DUCKS = "🦆🦆🦆🦆🦆🦆";
const BIGNUM = BigInt(Number.MAX_VALUE).toString();

/** Column, then its field in the row of smallest and in the row of largest values; the third row is all NULL. */
const ALL_TYPES: readonly (readonly [string, string, string])[] = [
  ["bool", "false", "true"],
  ["tinyint", "-128", "127"],
  ["smallint", "-32768", "32767"],
  ["int", "-2147483648", "2147483647"],
  ["bigint", "-9223372036854775808", "9223372036854775807"],
  ["hugeint", "-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
  ["uhugeint", "0", "340282366920938463463374607431768211455"],
  ["utinyint", "0", "255"],
  ["usmallint", "0", "65535"],
  ["uint", "0", "4294967295"],
  ["ubigint", "0", "18446744073709551615"],
  ["bignum", `-${BIGNUM}`, BIGNUM],
  ["date", "-5877641-06-25", "+5881580-07-10"],
  ["time", "00:00:00", "24:00:00"],
  ["timestamp", "-290308-12-22T00:00:00", "+294247-01-10T04:00:54.775806"],
  ["timestamp_s", "-290308-12-22T00:00:00", "+294247-01-10T04:00:54"],
  ["timestamp_ms", "-290308-12-22T00:00:00", "+294247-01-10T04:00:54.775"],
  ["timestamp_ns", "1677-09-22T00:00:00", "2262-04-11T23:47:16.854775806"],
  ["time_tz", "00:00:00+15:59:59", "24:00:00-15:59:59"],
  ["timestamp_tz", "-290308-12-22T00:00:00Z", "+294247-01-10T04:00:54.775806Z"],
  ["float", "-3.4028235e+38", "3.4028235e+38"],
  ["double", "-1.7976931348623157e+308", "1.7976931348623157e+308"],
  ["dec_4_1", "-999.9", "999.9"],
  ["dec_9_4", "-99999.9999", "99999.9999"],
  ["dec_18_6", "-999999999999.999999", "999999999999.999999"],
  ["dec38_10", "-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"],
  ["uuid", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  ["interval", "PT0S", "P83Y3M999DT16M39.999999S"],
  ["varchar", DUCKS, "goo\u0000se"],
  ["blob", "dGhpc2lzYWxvbmdibG9iAHdpdGhudWxsYnl0ZXM=", "AAAAYQ=="],
  ["bit", "0010001001011100010101011010111", "10101"],
  ["small_enum", "DUCK_DUCK_ENUM", "GOOSE"],
  ["medium_enum", "enum_0", "enum_299"],
  ["large_enum", "enum_0", "enum_69999"],
  ["int_array", "[]", "[42,999,null,null,-42]"],
  ["double_array", "[]", "[42,null,null,null,null,-42]"],
  ["date_array", "[]", '["1970-01-01","infinity","-infinity",null,"2022-05-12"]'],
  ["timestamp_array", "[]", '["1970-01-01T00:00:00","infinity","-infinity",null,"2022-05-12T16:23:45"]'],
  ["timestamptz_array", "[]", '["1970-01-01T00:00:00Z","infinity","-infinity",null,"2022-05-12T23:23:45Z"]'],
  ["varchar_array", "[]", `["${DUCKS}","goose",null,""]`],
  ["nested_int_array", "[]", "[[],[42,999,null,null,-42],null,[],[42,999,null,null,-42]]"],
  ["struct", '{"a":null,"b":null}', `{"a":42,"b":"${DUCKS}"}`],
  ["struct_of_arrays", '{"a":null,"b":null}', `{"a":[42,999,null,null,-42],"b":["${DUCKS}","goose",null,""]}`],
  ["array_of_structs", "[]", `[{"a":null,"b":null},{"a":42,"b":"${DUCKS}"},null]`],
  ["map", "{}", `{"key1":"${DUCKS}","key2":"goose"}`],
  ["union", "Frank", "5"],
  ["fixed_int_array", "[null,2,3]", "[4,5,6]"],
  ["fixed_varchar_array", '["a",null,"c"]', '["d","e","f"]'],
  ["fixed_nested_int_array", "[[null,2,3],null,[null,2,3]]", "[[4,5,6],[null,2,3],[4,5,6]]"],
  [
    "fixed_nested_varchar_array",
    '[["a",null,"c"],null,["a",null,"c"]]',
    '[["d","e","f"],["a",null,"c"],["d","e","f"]]',
  ],
  [
    "fixed_struct_array",
    `[{"a":null,"b":null},{"a":42,"b":"${DUCKS}"},{"a":null,"b":null}]`,
    `[{"a":42,"b":"${DUCKS}"},{"a":null,"b":null},{"a":42,"b":"${DUCKS}"}]`,
  ],
  ["struct_of_fixed_array", '{"a":[null,2,3],"b":["a",null,"c"]}', '{"a":[4,5,6],"b":["d","e","f"]}'],
  ["fixed_array_of_int_list", "[[],[42,999,null,null,-42],[]]", "[[42,999,null,null,-42],[],[42,999,null,null,-42]]"],
  ["list_of_fixed_int_array", "[[null,2,3],[4,5,6],[null,2,3]]", "[[4,5,6],[null,2,3],[4,5,6]]"],
  ["time_ns", "00:00:00", "24:00:00"],
  [
    "geometry",
    "POINT EMPTY",
    "GEOMETRYCOLLECTION (POINT (1 2), POINT EMPTY, LINESTRING (0 0, 1 1), LINESTRING EMPTY, POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0)), POLYGON EMPTY, MULTIPOINT (5 6, EMPTY), MULTILINESTRING ((0 0, 1 1), EMPTY, (2 2, 3 3), EMPTY), MULTILINESTRING EMPTY, MULTIPOLYGON (((0 0, 0 1, 1 1, 1 0, 0 0)), EMPTY, ((0 0, 0 2, 2 2, 2 0, 0 0)), EMPTY), MULTIPOLYGON EMPTY, GEOMETRYCOLLECTION (POINT (5 6)), GEOMETRYCOLLECTION EMPTY)",
  ],
];

test("every type of test_all_types()", async () => {
  const answer = await service.get("/types?format=csv");
  const [names, smallest, largest, nulls, ...rest] = read(await answer.text());
  const columns = (names ?? []).map((name, index) => [name, smallest?.[index], largest?.[index]]);
  expect(columns).toEqual(ALL_TYPES);
  expect(nulls).toEqual(ALL_TYPES.map(() => null));
  expect(rest).toEqual([]);
});

/** SQL expression, then its field as it stands in the answer. */
const FIELDS: readonly (readonly [string, string])[] = [
  ["NULL", ""],
  ["''", '""'],
  ["'NULL'", "NULL"],
  ["'a,b'", '"a,b"'],
  [`'say "hi"'`, '"say ""hi"""'],
  ["'a' || chr(13) || chr(10) || 'b'", '"a\r\nb"'],
  ["' a '", " a "],
  // Cells that a spreadsheet would run are data.
  ["'=1+1'", "=1+1"],
  ["'+1'", "+1"],
  ["'-1'", "-1"],
  ["'@SUM(A1)'", "@SUM(A1)"],
  [`'=HYPERLINK("x","y")'`, '"=HYPERLINK(""x"",""y"")"'],
  // What JSON has no number for.
  ["'nan'::DOUBLE", "NaN"],
  ["'infinity'::DOUBLE", "Infinity"],
  ["'-infinity'::FLOAT", "-Infinity"],
  ["-0.0::DOUBLE", "-0.0"],
  ["0.1::FLOAT", "0.1"],
  ["1.10::DECIMAL(4,2)", "1.10"],
  ["9007199254740993", "9007199254740993"],
  ["true", "true"],
  ["'infinity'::DATE", "infinity"],
  ["TIMESTAMP '2024-01-01 12:00:00.5'", "2024-01-01T12:00:00.500000"],
  ["TIMESTAMPTZ '2024-01-01 12:00:00+02'", "2024-01-01T10:00:00Z"],
  ["''::BLOB", '""'],
  ["'\\xFF\\x00'::BLOB", "/wA="],
  ["''::ENUM('', 'a')", '""'],
  [`'a"b,'::ENUM('a"b,', 'c')`, '"a""b,"'],
  ["'LINESTRING(0 0, 1 1)'::GEOMETRY", '"LINESTRING (0 0, 1 1)"'],
  ["'POINT(1 2)'::GEOMETRY", "POINT (1 2)"],
  // Nested values are their JSON text, and in it NULL and NaN are JSON's.
  ["[1]", "[1]"],
  ["[1, NULL]", '"[1,null]"'],
  ["['a\"b']", '"[""a\\""b""]"'],
  ["['x' || chr(10)]", '"[""x\\n""]"'],
  ["['nan'::DOUBLE]", "[null]"],
  ["{'a': 'x', 'b': NULL}", '"{""a"":""x"",""b"":null}"'],
  ["MAP {'k': 1}", '"{""k"":1}"'],
  ["MAP {}", "{}"],
  ["array_value(1, 2)", '"[1,2]"'],
  // JSON is its text, so a string in it keeps its quotes, and JSON's null is not NULL.
  [`'{"a": 1}'::JSON`, '"{""a"": 1}"'],
  [`'"x"'::JSON`, '"""x"""'],
  ["'null'::JSON", "null"],
  ["{'a': 1}::VARIANT", '"{""a"":1}"'],
  ["'x'::VARIANT", '"""x"""'],
  // A union is the field of its value.
  ["union_value(s := 'x')", "x"],
  ["union_value(s := 'x,y')", '"x,y"'],
  ["union_value(s := '')", '""'],
  ["union_value(s := NULL::VARCHAR)", ""],
  ["union_value(d := 'nan'::DOUBLE)", "NaN"],
  ["union_value(l := ['x'])", '"[""x""]"'],
  ["[union_value(s := 'x')]", '"[""x""]"'],
];

test.each(FIELDS)("%s is the field %j", async (expression, field) => {
  expect(await database.text(csv, `SELECT ${expression} AS x, 1 AS y`)).toBe(`x,y\r\n${field},1\r\n`);
  expect(await database.text(csv, `SELECT 1 AS y, ${expression} AS x`)).toBe(`y,x\r\n1,${field}\r\n`);
});

test("duplicate names get numbers", async () => {
  expect(await database.text(csv, "SELECT 1 AS a, 2 AS a, 3 AS a_1")).toBe("a,a_2,a_1\r\n1,2,3\r\n");
});

test("long fields outgrow the first guess of the size", async () => {
  const sql = `SELECT repeat('"', 100000) AS q, repeat('a', 100000) AS a, range(20000) AS l, [{'x': '"', 'y': n}] AS s FROM range(5) r(n)`;
  const rows = read(await database.text(csv, sql)).slice(1);
  const list = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => n));
  expect(rows).toEqual(
    Array.from({ length: 5 }, (_, n) => ['"'.repeat(100_000), "a".repeat(100_000), list, `[{"x":"\\"","y":${n}}]`]),
  );
});

const field = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."\",\r\n\t;'\\ =+-@abc1é€🦆"), maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 30 }).map((text) => text.toWellFormed()),
  fc.constantFrom("", '""', "NULL", "null", "=cmd|' /C calc'!A0", "\ufeffbom", "# no comment", "\r\n"),
);

/** Tables of texts with NULLs. With several columns: one alone stands further down. */
const tables: fc.Arbitrary<Table> = fc
  .integer({ min: 2, max: 5 })
  .chain((width) =>
    fc.array(fc.array(fc.option(field), { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 }),
  );

const names = (table: Table): string[] => (table[0] ?? []).map((_, index) => `c${index}`);

function write(table: Table): Promise<string> {
  const rows = table.map((row) => `(${row.map((value) => `${sqlText(value)}::VARCHAR`).join(",")})`);
  return database.text(csv, `SELECT * FROM (VALUES ${rows.join(",")}) t(${names(table).join(",")})`);
}

describe("others read back what was written", () => {
  test("csv-parse", async () => {
    await fc.assert(
      fc.asyncProperty(tables, async (table) => {
        expect(read(await write(table))).toEqual([names(table), ...table]);
      }),
      { numRuns: 100 },
    );
  });

  // Python's reader does not tell NULL from empty text, and refused NUL before 3.11.
  testWithPython("csv")("Python's csv", async () => {
    const samples = fc
      .sample(tables, 100)
      .map((table) => table.map((row) => row.map((value) => value?.replaceAll("\0", "") ?? null)));
    const texts = await Promise.all(samples.map(write));
    const program = `
import csv, io, json, sys
print(json.dumps([list(csv.reader(io.StringIO(text, newline=""), strict=True)) for text in json.load(sys.stdin)]))`;
    const expected = samples.map((table) => [names(table), ...table.map((row) => row.map((value) => value ?? ""))]);
    expect(JSON.parse(python(program, JSON.stringify(texts)))).toEqual(expected);
  });

  test("DuckDB's read_csv", async () => {
    const file = join(folder, "table.csv");
    await fc.assert(
      fc.asyncProperty(tables, async (table) => {
        await writeFile(file, await write(table));
        const columns = names(table).map((name) => `'${name}': 'VARCHAR'`);
        const options = `columns = {${columns.join(",")}}, header = true, auto_detect = false, quote = '"', escape = '"', allow_quoted_nulls = false, null_padding = false, parallel = false`;
        const back = await database.text(json, `SELECT * FROM read_csv('${file}', ${options})`);
        const rows: Record<string, string | null>[] = JSON.parse(back);
        expect(rows.map((row) => Object.values(row))).toEqual(table);
      }),
      { numRuns: 100 },
    );
  });
});

describe("one column, where NULL is an empty line", () => {
  const sql = "SELECT unnest(['a', NULL, '', 'b', NULL]) AS x";

  test("csv-parse reads it", async () => {
    expect(await database.text(csv, sql)).toBe('x\r\na\r\n\r\n""\r\nb\r\n\r\n');
    expect(read(await database.text(csv, sql))).toEqual([["x"], ["a"], [null], [""], ["b"], [null]]);
  });

  testWithPython("csv")("Python's csv has a row for it", async () => {
    const program =
      "import csv, io, json, sys\nprint(json.dumps(list(csv.reader(io.TextIOWrapper(sys.stdin.buffer, newline='')))))";
    const rows = JSON.parse(python(program, await database.text(csv, sql)));
    expect(rows).toEqual([["x"], ["a"], [], [""], ["b"], []]);
  });

  test("DuckDB reads it", async () => {
    const file = join(folder, "one.csv");
    await writeFile(file, await database.text(csv, sql));
    const back = await database.text(json, `SELECT * FROM read_csv('${file}', allow_quoted_nulls = false)`);
    expect(JSON.parse(back)).toEqual(["a", null, "", "b", null].map((x) => ({ x })));
  });
});

describe("DuckDB's own text, where the forms agree", () => {
  const day = fc
    .integer({ min: -62_135_596_800, max: 253_402_300_799 })
    .map((second) => new Date(second * 1000).toISOString().slice(0, 10));
  const bits = (count: number) => fc.bigInt({ min: -(2n ** BigInt(count - 1)), max: 2n ** BigInt(count - 1) - 1n });

  test.each<[string, fc.Arbitrary<string>]>([
    ["BOOLEAN", fc.boolean().map(String)],
    ["TINYINT", bits(8).map(String)],
    ["INTEGER", bits(32).map(String)],
    ["BIGINT", bits(64).map(String)],
    ["HUGEINT", bits(128).map(String)],
    ["UBIGINT", fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)],
    ["BIGNUM", bits(500).map(String)],
    ["DECIMAL(9,2)", bits(24).map((value) => `${value}.25`)],
    ["DECIMAL(38,4)", bits(100).map((value) => `${value}.0625`)],
    ["DATE", day],
    ["UUID", fc.uuid()],
    ["BIT", fc.stringMatching(/^[01]{1,40}$/)],
    ["VARCHAR", fc.string({ unit: "grapheme" })],
  ])("%s", async (type, values) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(values), { minLength: 1, maxLength: 100 }), async (rows) => {
        const literals = rows.map((value) => `(${sqlText(value)})`).join(",");
        const sql = `SELECT v::${type} AS typed, v::${type}::VARCHAR AS text FROM (VALUES ${literals}) t(v)`;
        for (const [typed, text] of read(await database.text(csv, sql)).slice(1)) expect(typed).toBe(text);
      }),
      { numRuns: 8 },
    );
  });

  test("numbers and dates come back through read_csv with their values", async () => {
    await database.run(`CREATE TABLE numbers AS SELECT
      n AS i, (random() - 0.5) * pow(10, n % 40 - 20) AS d, ((random() - 0.5) * 1e6)::FLOAT AS f,
      CASE n % 4 WHEN 0 THEN 'nan' WHEN 1 THEN 'inf' WHEN 2 THEN '-inf' END::DOUBLE AS x,
      DATE '1970-01-01' + (n * 13)::INTEGER AS day, TIMESTAMP '1960-01-01' + to_microseconds(n * 123456789012) AS t,
      TIME '00:00:00' + to_microseconds(n * 999983) AS clock
      FROM range(5000) r(n)`);
    const file = join(folder, "numbers.csv");
    await writeFile(file, await database.text(csv, "SELECT * FROM numbers"));
    const types =
      "{'i': 'BIGINT', 'd': 'DOUBLE', 'f': 'FLOAT', 'x': 'DOUBLE', 'day': 'DATE', 't': 'TIMESTAMP', 'clock': 'TIME'}";
    const back = `SELECT * FROM read_csv('${file}', header = true, columns = ${types})`;
    expect(await database.text(csv, `SELECT count(*) AS n FROM (${back})`)).toBe("n\r\n5000\r\n");
    expect(await database.text(csv, `(${back}) EXCEPT ALL (SELECT * FROM numbers)`)).toBe("i,d,f,x,day,t,clock\r\n");
  });
});
