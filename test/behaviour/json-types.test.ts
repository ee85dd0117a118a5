import { beforeAll, describe, expect, test } from "vitest";
import { type JsonDatabase, openJsonDatabase } from "./json-rows.ts";

let database: JsonDatabase;
beforeAll(async () => {
  database = await openJsonDatabase();
});

const DUCKS = '"🦆🦆🦆🦆🦆🦆"';
const BIGNUM = BigInt(Number.MAX_VALUE).toString();

/** Column, then its JSON in the row of smallest and in the row of largest values; the third row is all NULL. */
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
  ["date", '"-5877641-06-25"', '"+5881580-07-10"'],
  ["time", '"00:00:00"', '"24:00:00"'],
  ["timestamp", '"-290308-12-22T00:00:00"', '"+294247-01-10T04:00:54.775806"'],
  ["timestamp_s", '"-290308-12-22T00:00:00"', '"+294247-01-10T04:00:54"'],
  ["timestamp_ms", '"-290308-12-22T00:00:00"', '"+294247-01-10T04:00:54.775"'],
  ["timestamp_ns", '"1677-09-22T00:00:00"', '"2262-04-11T23:47:16.854775806"'],
  ["time_tz", '"00:00:00+15:59:59"', '"24:00:00-15:59:59"'],
  ["timestamp_tz", '"-290308-12-22T00:00:00Z"', '"+294247-01-10T04:00:54.775806Z"'],
  ["float", "-3.4028235e+38", "3.4028235e+38"],
  ["double", "-1.7976931348623157e+308", "1.7976931348623157e+308"],
  ["dec_4_1", "-999.9", "999.9"],
  ["dec_9_4", "-99999.9999", "99999.9999"],
  ["dec_18_6", "-999999999999.999999", "999999999999.999999"],
  ["dec38_10", "-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"],
  ["uuid", '"00000000-0000-0000-0000-000000000000"', '"ffffffff-ffff-ffff-ffff-ffffffffffff"'],
  ["interval", '"PT0S"', '"P83Y3M999DT16M39.999999S"'],
  ["varchar", DUCKS, '"goo\\u0000se"'],
  ["blob", '"dGhpc2lzYWxvbmdibG9iAHdpdGhudWxsYnl0ZXM="', '"AAAAYQ=="'],
  ["bit", '"0010001001011100010101011010111"', '"10101"'],
  ["small_enum", '"DUCK_DUCK_ENUM"', '"GOOSE"'],
  ["medium_enum", '"enum_0"', '"enum_299"'],
  ["large_enum", '"enum_0"', '"enum_69999"'],
  ["int_array", "[]", "[42,999,null,null,-42]"],
  ["double_array", "[]", "[42,null,null,null,null,-42]"],
  ["date_array", "[]", '["1970-01-01","infinity","-infinity",null,"2022-05-12"]'],
  ["timestamp_array", "[]", '["1970-01-01T00:00:00","infinity","-infinity",null,"2022-05-12T16:23:45"]'],
  ["timestamptz_array", "[]", '["1970-01-01T00:00:00Z","infinity","-infinity",null,"2022-05-12T23:23:45Z"]'],
  ["varchar_array", "[]", `[${DUCKS},"goose",null,""]`],
  ["nested_int_array", "[]", "[[],[42,999,null,null,-42],null,[],[42,999,null,null,-42]]"],
  ["struct", '{"a":null,"b":null}', `{"a":42,"b":${DUCKS}}`],
  ["struct_of_arrays", '{"a":null,"b":null}', `{"a":[42,999,null,null,-42],"b":[${DUCKS},"goose",null,""]}`],
  ["array_of_structs", "[]", `[{"a":null,"b":null},{"a":42,"b":${DUCKS}},null]`],
  ["map", "{}", `{"key1":${DUCKS},"key2":"goose"}`],
  ["union", '"Frank"', "5"],
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
    `[{"a":null,"b":null},{"a":42,"b":${DUCKS}},{"a":null,"b":null}]`,
    `[{"a":42,"b":${DUCKS}},{"a":null,"b":null},{"a":42,"b":${DUCKS}}]`,
  ],
  ["struct_of_fixed_array", '{"a":[null,2,3],"b":["a",null,"c"]}', '{"a":[4,5,6],"b":["d","e","f"]}'],
  ["fixed_array_of_int_list", "[[],[42,999,null,null,-42],[]]", "[[42,999,null,null,-42],[],[42,999,null,null,-42]]"],
  ["list_of_fixed_int_array", "[[null,2,3],[4,5,6],[null,2,3]]", "[[4,5,6],[null,2,3],[4,5,6]]"],
  ["time_ns", '"00:00:00"', '"24:00:00"'],
  [
    "geometry",
    '"POINT EMPTY"',
    '"GEOMETRYCOLLECTION (POINT (1 2), POINT EMPTY, LINESTRING (0 0, 1 1), LINESTRING EMPTY, POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0)), POLYGON EMPTY, MULTIPOINT (5 6, EMPTY), MULTILINESTRING ((0 0, 1 1), EMPTY, (2 2, 3 3), EMPTY), MULTILINESTRING EMPTY, MULTIPOLYGON (((0 0, 0 1, 1 1, 1 0, 0 0)), EMPTY, ((0 0, 0 2, 2 2, 2 0, 0 0)), EMPTY), MULTIPOLYGON EMPTY, GEOMETRYCOLLECTION (POINT (5 6)), GEOMETRYCOLLECTION EMPTY)"',
  ],
];

describe("every type of test_all_types()", () => {
  test.each(ALL_TYPES)("%s", async (column, smallest, largest) => {
    const rows = [smallest, largest, "null"].map((value) => `{"x":${value}}`);
    expect(await database.json(`SELECT "${column}" AS x FROM test_all_types()`)).toBe(`[${rows.join(",")}]`);
  });

  test("all columns at once, in their order", async () => {
    const row = (index: 1 | 2) => ALL_TYPES.map((entry) => `"${entry[0]}":${entry[index]}`).join(",");
    const nulls = ALL_TYPES.map(([column]) => `"${column}":null`).join(",");
    const expected = `[{${row(1)}},{${row(2)}},{${nulls}}]`;
    expect(await database.json("SELECT * FROM test_all_types()")).toBe(expected);
    expect(await database.streamedJson("SELECT * FROM test_all_types()")).toBe(expected);
  });
});

/** SQL expression, then its JSON. */
const VALUES: readonly (readonly [string, string])[] = [
  ["NULL", "null"],
  ["1::BIGINT", "1"],
  ["9007199254740993", "9007199254740993"],
  ["-9007199254740993", "-9007199254740993"],
  ["4294967296", "4294967296"],
  ["-4294967296", "-4294967296"],
  ["18446744073709551616::HUGEINT", "18446744073709551616"],
  ["-1::HUGEINT", "-1"],
  ["sum(1)", "1"],
  [
    "'123456789012345678901234567890123456789012345678901234567890'::BIGNUM",
    "123456789012345678901234567890123456789012345678901234567890",
  ],
  ["'-256'::BIGNUM", "-256"],
  ["0::BIGNUM", "0"],
  // DECIMAL keeps its scale.
  ["1.10::DECIMAL(4,2)", "1.10"],
  ["-0.05::DECIMAL(4,2)", "-0.05"],
  ["0::DECIMAL(9,4)", "0.0000"],
  ["5::DECIMAL(18,0)", "5"],
  ["0.000000000000000001::DECIMAL(18,18)", "0.000000000000000001"],
  ["-99999999999999.9999::DECIMAL(18,4)", "-99999999999999.9999"],
  ["-0.5::DECIMAL(38,38)", "-0.50000000000000000000000000000000000000"],
  ["12345678901234567890.12::DECIMAL(38,2)", "12345678901234567890.12"],
  // DOUBLE and FLOAT: shortest digits that read back as the same number.
  ["0.1::DOUBLE + 0.2::DOUBLE", "0.30000000000000004"],
  ["5::DOUBLE", "5"],
  ["-0.0::DOUBLE", "-0.0"],
  ["1e21::DOUBLE", "1e+21"],
  ["1e-7::DOUBLE", "1e-7"],
  ["5e-324::DOUBLE", "5e-324"],
  ["123456789012345680000::DOUBLE", "123456789012345680000"],
  ["'nan'::DOUBLE", "null"],
  ["'infinity'::DOUBLE", "null"],
  ["'-infinity'::FLOAT", "null"],
  ["0.1::FLOAT", "0.1"],
  ["16777216::FLOAT", "16777216"],
  ["-0.0::FLOAT", "-0.0"],
  ["1e-45::FLOAT", "1e-45"],
  // Dates and times: expanded years, infinities, fractions in full width or not at all.
  ["DATE '2024-02-29'", '"2024-02-29"'],
  ["DATE '1970-01-01'", '"1970-01-01"'],
  ["DATE '0044-03-15 (BC)'", '"-0043-03-15"'],
  ["DATE '0001-12-31 (BC)'", '"0000-12-31"'],
  ["DATE '0001-01-01'", '"0001-01-01"'],
  ["DATE '9999-12-31'", '"9999-12-31"'],
  ["DATE '10000-01-01'", '"+10000-01-01"'],
  ["'infinity'::DATE", '"infinity"'],
  ["'-infinity'::TIMESTAMP", '"-infinity"'],
  ["'infinity'::TIMESTAMPTZ", '"infinity"'],
  ["'infinity'::TIMESTAMP_S", '"infinity"'],
  ["'infinity'::TIMESTAMP_MS", '"infinity"'],
  ["'-infinity'::TIMESTAMP_NS", '"-infinity"'],
  ["TIMESTAMP '2024-01-01 12:00:00'", '"2024-01-01T12:00:00"'],
  ["TIMESTAMP '2024-01-01 12:00:00.5'", '"2024-01-01T12:00:00.500000"'],
  ["TIMESTAMP '1969-12-31 23:59:59.999999'", '"1969-12-31T23:59:59.999999"'],
  ["TIMESTAMP '0044-03-15 (BC) 00:00:00.000001'", '"-0043-03-15T00:00:00.000001"'],
  ["'2024-01-01 12:00:00.5'::TIMESTAMP_MS", '"2024-01-01T12:00:00.500"'],
  ["'2024-01-01 12:00:00.5'::TIMESTAMP_NS", '"2024-01-01T12:00:00.500000000"'],
  ["'1969-12-31 23:59:59.999999999'::TIMESTAMP_NS", '"1969-12-31T23:59:59.999999999"'],
  ["'2024-01-01 12:00:00'::TIMESTAMP_S", '"2024-01-01T12:00:00"'],
  ["TIMESTAMPTZ '2024-01-01 12:00:00+02'", '"2024-01-01T10:00:00Z"'],
  ["TIMESTAMPTZ '2024-01-01 12:00:00.25+00'", '"2024-01-01T12:00:00.250000Z"'],
  ["TIME '01:02:03'", '"01:02:03"'],
  ["TIME '01:02:03.000004'", '"01:02:03.000004"'],
  ["TIME '24:00:00'", '"24:00:00"'],
  ["'01:02:03.000000004'::TIME_NS", '"01:02:03.000000004"'],
  ["'01:02:03+00'::TIMETZ", '"01:02:03Z"'],
  ["'01:02:03.5+05:30'::TIMETZ", '"01:02:03.500000+05:30"'],
  ["'01:02:03-08'::TIMETZ", '"01:02:03-08:00"'],
  ["'01:02:03-00:00:01'::TIMETZ", '"01:02:03-00:00:01"'],
  ["INTERVAL '0 days'", '"PT0S"'],
  ["INTERVAL '14 months'", '"P1Y2M"'],
  ["INTERVAL '-14 months'", '"P-1Y-2M"'],
  ["INTERVAL '1 month -3 days 2 hours'", '"P1M-3DT2H"'],
  ["INTERVAL '25 hours 61 seconds'", '"PT25H1M1S"'],
  ["INTERVAL '1.5 seconds'", '"PT1.500000S"'],
  ["INTERVAL '-1.5 seconds'", '"PT-1.500000S"'],
  ["to_microseconds(-1)", '"PT-0.000001S"'],
  // Text.
  ["''", '""'],
  [`'a"b\\c'`, '"a\\"b\\\\c"'],
  ["chr(8) || chr(9) || chr(10) || chr(12) || chr(13)", '"\\b\\t\\n\\f\\r"'],
  ["chr(1) || chr(31) || chr(127)", '"\\u0001\\u001f\u007f"'],
  ["'é' || chr(8232) || '🦆'", '"é\u2028🦆"'],
  ["'twelve bytes'", '"twelve bytes"'],
  ["'thirteen byte'", '"thirteen byte"'],
  ["'abc'", '"abc"'],
  ["''::BLOB", '""'],
  ["'\\xFF\\x00'::BLOB", '"/wA="'],
  ["'1'::BIT", '"1"'],
  ["'010101010'::BIT", '"010101010"'],
  ["'0d1b6a4e-89ab-4cde-8f01-23456789abcd'::UUID", '"0d1b6a4e-89ab-4cde-8f01-23456789abcd"'],
  [`'a"b'::ENUM('a"b', 'c')`, '"a\\"b"'],
  // Nested.
  ["[1, NULL, 3]", "[1,null,3]"],
  ["[]::INTEGER[]", "[]"],
  ["[NULL]", "[null]"],
  ["[[['deep']], NULL, [], [[NULL, '']]]", '[[["deep"]],null,[],[[null,""]]]'],
  ["[{'m': MAP {'k': [1]}}, NULL, {'m': NULL}]", '[{"m":{"k":[1]}},null,{"m":null}]'],
  ["{'a': 1, 'b\"c': {'d': NULL}}", '{"a":1,"b\\"c":{"d":null}}'],
  ["array_value(1.10::DECIMAL(3,2), NULL)", "[1.10,null]"],
  ["MAP {}", "{}"],
  ["MAP {1: 'a', 2: NULL}", '{"1":"a","2":null}'],
  ["MAP {DATE '2024-01-01': 1}", '{"2024-01-01":1}'],
  ["MAP {true: 1}", '{"true":1}'],
  ["MAP {'q\"': 1}", '{"q\\"":1}'],
  ["MAP {1.50::DECIMAL(3,2): 1}", '{"1.50":1}'],
  ["MAP {{'a': 'x'}: 1}", '{"{\\"a\\":\\"x\\"}":1}'],
  ["MAP {[1, NULL]: 1}", '{"[1,null]":1}'],
  ["MAP {'nan'::DOUBLE: 1, 'infinity'::DOUBLE: 2, 1.5::DOUBLE: 3}", '{"NaN":1,"Infinity":2,"1.5":3}'],
  ["union_value(n := 1)", "1"],
  ["NULL::UNION(n INTEGER)", "null"],
  ["union_value(n := NULL::INTEGER)", "null"],
  ["[union_value(s := 'x'), NULL]", '["x",null]'],
  // JSON is nested as it is, where it is JSON; DuckDB takes a little more for JSON than readers do.
  [`'{"a": [1, 2.50, "x"]}'::JSON`, '{"a": [1, 2.50, "x"]}'],
  ["'12345678901234567890.10'::JSON", "12345678901234567890.10"],
  ["'null'::JSON", "null"],
  ["NULL::JSON", "null"],
  [`'{\n"a": "b\\n c"}'::JSON`, '{"a":"b\\n c"}'],
  [`'[1, "NaN ,]", NaN, -Infinity,]'::JSON`, '[1,"NaN ,]",null,null]'],
  ["to_json({'a': 'nan'::DOUBLE})", '{"a":null}'],
  [`{'j': '[1]'::JSON, 'l': ['{"b":2}'::JSON]}`, '{"j":[1],"l":[{"b":2}]}'],
  // VARIANT follows the rules of the types that it holds.
  ["NULL::VARIANT", "null"],
  ["1::TINYINT::VARIANT", "1"],
  ["'x\"y'::VARIANT", '"x\\"y"'],
  ["{'a': 1.10::DECIMAL(4,2), 'b': [1, NULL]}::VARIANT", '{"a":1.10,"b":[1,null]}'],
  ["TIMESTAMP '2024-01-01 12:00:00.5'::VARIANT", '"2024-01-01T12:00:00.500000"'],
  ["123456789012345678901234567890::HUGEINT::VARIANT", "123456789012345678901234567890"],
  ["'nan'::DOUBLE::VARIANT", "null"],
  ["0.1::FLOAT::VARIANT", "0.1"],
  ["'12:00:00+05:30'::TIMETZ::VARIANT", '"12:00:00+05:30"'],
  ["[1::VARIANT, NULL, 'a'::VARIANT]", '[1,null,"a"]'],
  ["{'v': DATE '2024-01-01'::VARIANT}", '{"v":"2024-01-01"}'],
];

test.each(VALUES)("%s is %s", async (expression, expected) => {
  expect(await database.row(`SELECT ${expression} AS x`)).toBe(`{"x":${expected}}`);
});

test.each([
  "POINT(1.5 -2)",
  "POINT Z (1 2 3)",
  "POINT M (1 2 3)",
  "POINT ZM (1 2 3 4)",
  "POINT Z EMPTY",
  "POINT(-0.0 1e300)",
  "POINT(1e16 0.00001)",
  "LINESTRING(0 0, 1e20 1e-9)",
  "POLYGON((0 0, 9 0, 9 9, 0 0), (1 1, 2 1, 2 2, 1 1))",
  "MULTIPOINT Z (1 2 3, 3 4 5)",
  "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), EMPTY)",
  "GEOMETRYCOLLECTION Z (POINT Z (1 2 3), LINESTRING Z (1 2 3, 4 5 6))",
  "GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 2)), POINT EMPTY)",
])("geometry %s is the text that DuckDB makes of it", async (text) => {
  const [expected] = await database.texts(`SELECT '${text}'::GEOMETRY`);
  expect(await database.row(`SELECT '${text}'::GEOMETRY AS x`)).toBe(`{"x":"${expected}"}`);
});
