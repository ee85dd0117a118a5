import { type Exception, type SourceType, type SourceTypes, same, strings } from "./source-type.ts";

const UUID = "0190a1b2-0000-7000-8000-000000000001";

const types: readonly SourceType[] = [
  { type: "tinyint", values: same("127", "-128") },
  {
    type: "tinyint(1)",
    values: [
      ["1", "true"],
      ["0", "false"],
    ],
    remark: "also `boolean`; other numbers are `true` too, see below",
  },
  { type: "tinyint unsigned", values: same("255") },
  { type: "smallint", values: same("32767", "-32768") },
  { type: "smallint unsigned", values: same("65535") },
  { type: "mediumint", values: same("8388607", "-8388608") },
  { type: "mediumint unsigned", values: same("16777215") },
  { type: "int", values: same("2147483647", "-2147483648") },
  { type: "int unsigned", values: same("4294967295") },
  { type: "int(5) zerofill", values: same("42"), remark: "without the zeros" },
  { type: "bigint", values: same("9223372036854775807", "-9223372036854775808") },
  { type: "bigint unsigned", values: same("18446744073709551615", "0") },
  { type: "decimal(12,2)", values: same("1.10", "-9999999999.99") },
  {
    type: "decimal(38,10)",
    values: same("9999999999999999999999999999.9999999999"),
    remark: "more than 38 digits: see below",
  },
  {
    type: "float",
    values: [
      ["0.1", "0.1"],
      ["16777216", "16777216"],
      ["3.40282e38", "3.40282e+38"],
    ],
  },
  {
    type: "double",
    values: [
      ["0.30000000000000004", "0.30000000000000004"],
      ["1.7976931348623157e308", "1.7976931348623157e+308"],
      ["2.2250738585072014e-308", "2.2250738585072014e-308"],
    ],
  },
  {
    type: "bit(1)",
    values: [
      ["b'1'", "true"],
      ["b'0'", "false"],
    ],
  },
  {
    type: "bit(8)",
    values: [
      ["b'01010101'", '"VQ=="'],
      ["b'11111111'", '"/w=="'],
    ],
    remark: "bytes: base64 in JSON and CSV, see below",
  },
  { type: "char(4)", values: strings("ab"), remark: "without the spaces that fill it up" },
  { type: "varchar(20) character set utf8mb4", values: strings("é🦆") },
  {
    type: "text",
    values: [
      ["'O''Brien'", `"O'Brien"`],
      [`'a, "b"\\nc'`, `"a, \\"b\\"\\nc"`],
      ["''", '""'],
    ],
  },
  { type: "text character set latin1", values: strings("é"), remark: "all character sets arrive as UTF-8" },
  {
    type: "blob",
    values: [
      ["x'00ff'", '"AP8="'],
      ["''", '""'],
    ],
    remark: "base64 in JSON and CSV",
  },
  { type: "binary(4)", values: [["x'00ff'", '"AP8AAA=="']], remark: "with the zeros that fill it up" },
  { type: "varbinary(9)", values: [["x'00ff'", '"AP8="']] },
  { type: "enum('sad','happy')", values: strings("happy", ""), remark: "a string" },
  { type: "set('a','b','c')", values: strings("a,c", ""), remark: "a string with commas" },
  {
    type: "json",
    values: [
      [`'{"b":1,  "a":[1.50, 12345678901234567890.12]}'`, `"{\\"b\\":1,  \\"a\\":[1.50, 12345678901234567890.12]}"`],
    ],
    remark: "a string; cast it to JSON, see below",
  },
  { type: "date", values: strings("2024-02-29", "0001-01-01", "9999-12-31"), remark: "zeros in it: see below" },
  {
    type: "datetime",
    values: [
      ["'2024-02-29 12:30:00'", '"2024-02-29T12:30:00"'],
      ["'9999-12-31 23:59:59'", '"9999-12-31T23:59:59"'],
    ],
  },
  {
    type: "datetime(6)",
    values: [
      ["'2024-02-29 12:30:00.25'", '"2024-02-29T12:30:00.250000"'],
      ["'2024-02-29 12:30:00.000001'", '"2024-02-29T12:30:00.000001"'],
    ],
  },
  {
    type: "timestamp",
    values: [
      ["'2024-02-29 12:30:00'", '"2024-02-29T12:30:00"'],
      ["'2038-01-19 03:14:07'", '"2038-01-19T03:14:07"'],
    ],
    remark: "in the time zone of the server, see below",
  },
  { type: "timestamp(6)", values: [["'2024-02-29 12:30:00.000001'", '"2024-02-29T12:30:00.000001"']] },
  {
    type: "time",
    values: strings("12:30:00", "-01:30:00", "838:59:59", "-838:59:59"),
    remark: "a string, as it may be negative or longer than a day; see below",
  },
  { type: "time(6)", values: strings("12:30:00.25", "-00:00:00.5"), remark: "a string, without trailing zeros" },
  { type: "year", values: same("2024", "0") },
  { type: "uuid", values: [[`'${UUID}'`, `"${UUID}"`]], remark: "MariaDB; a string" },
  { type: "inet6", values: strings("::1"), remark: "MariaDB; a string" },
  {
    type: "point",
    values: [["ST_GeomFromText('POINT(1 2)')", '"AAAAAAEBAAAAAAAAAAAA8D8AAAAAAAAAQA=="']],
    remark: "MySQL's own bytes, see below",
  },
];

const inMysql = (value: string): { readonly template: string } => ({
  template: `SELECT v FROM mysql_query('shop', 'SELECT ${value} AS v FROM t')`,
});

const exceptions: readonly Exception[] = [
  {
    type: "tinyint(1)",
    value: "2",
    returned: "true",
    instead: { init: "SET GLOBAL mysql_tinyint1_as_boolean = false" },
    json: "2",
  },
  { type: "tinyint(1)", value: "2", returned: "true", instead: inMysql("v + 0"), json: "2" },
  {
    type: "decimal(65,30)",
    value: "12345678901234567890123456789012345.123456789012345678901234567890",
    returned: "1.234567890123457e+34",
    instead: inMysql("CAST(v AS CHAR)"),
    json: '"12345678901234567890123456789012345.123456789012345678901234567890"',
  },
  { type: "bit(8)", value: "b'01010101'", returned: '"VQ=="', instead: inMysql("v + 0"), json: "85" },
  {
    type: "date",
    value: "'0000-00-00'",
    returned: "null",
    instead: inMysql("CAST(v AS CHAR)"),
    json: '"0000-00-00"',
  },
  {
    type: "datetime",
    value: "'0000-00-00 00:00:00'",
    returned: "null",
    instead: inMysql("CAST(v AS CHAR)"),
    json: '"0000-00-00 00:00:00"',
  },
  {
    type: "date",
    value: "'2024-02-00'",
    returned: "Date out of range: 2024-2-0",
    instead: inMysql("CAST(v AS CHAR)"),
    json: '"2024-02-00"',
  },
  {
    type: "date",
    value: "'2024-02-00'",
    returned: "Date out of range: 2024-2-0",
    instead: { init: "SET GLOBAL mysql_incomplete_dates_as_nulls = true" },
    json: "null",
  },
  {
    type: "timestamp",
    value: "'2024-02-29 12:30:00'",
    returned: '"2024-02-29T12:30:00"',
    instead: { init: "SET GLOBAL mysql_session_time_zone = '+00:00'" },
    json: '"2024-02-29T10:30:00"',
  },
  {
    type: "time",
    value: "'12:30:00'",
    returned: '"12:30:00"',
    instead: { template: "SELECT v::TIME AS v FROM shop.t" },
    json: '"12:30:00"',
  },
  {
    type: "json",
    value: `'{"a": [1.50]}'`,
    returned: '"{\\"a\\": [1.50]}"',
    instead: { template: "SELECT v::JSON AS v FROM shop.t" },
    json: '{"a": [1.50]}',
  },
  {
    type: "point",
    value: "ST_GeomFromText('POINT(1 2)')",
    returned: '"AAAAAAEBAAAAAAAAAAAA8D8AAAAAAAAAQA=="',
    instead: inMysql("ST_AsText(v)"),
    json: '"POINT(1 2)"',
  },
];

export const mysqlTypes: SourceTypes = {
  // Not in UTC, so that a time zone which is ignored is noticed. An empty mode allows dates with zeros.
  setup: ["SET GLOBAL time_zone = '+02:00'", "SET time_zone = '+02:00'", "SET NAMES utf8mb4", "SET sql_mode = ''"],
  types,
  exceptions,
};
