import { type Exception, type SourceType, type SourceTypes, same, strings } from "./source-type.ts";

const types: readonly SourceType[] = [
  {
    type: "INTEGER",
    values: [
      ["9223372036854775807", "9223372036854775807"],
      ["-9223372036854775808", "-9223372036854775808"],
      ["'12'", "12"],
    ],
    remark: "also `INT`, `BIGINT`, `TINYINT`, ...",
  },
  {
    type: "REAL",
    values: [
      ["0.1", "0.1"],
      ["1.7976931348623157e308", "1.7976931348623157e+308"],
      ["5", "5"],
      ["9e999", "null", "Infinity"],
    ],
    remark: "also `FLOAT`, `DOUBLE`; infinity is `null` in JSON",
  },
  {
    type: "TEXT",
    values: [
      ["'O''Brien'", `"O'Brien"`],
      ["''", '""'],
      ["'é🦆'", '"é🦆"'],
      ["1.5", '"1.5"'],
      ["'12345678901234567890.123456789'", '"12345678901234567890.123456789"'],
    ],
    remark: "also `VARCHAR(10)`, `CLOB`; SQLite does not limit the length",
  },
  {
    type: "BLOB",
    values: [
      ["x'00ff'", '"AP8="'],
      ["x''", '""'],
    ],
    remark: "base64 in JSON and CSV",
  },
  {
    type: "NUMERIC",
    values: [
      ["1.10", "1.1"],
      ["9007199254740991", "9007199254740991"],
    ],
    remark: "SQLite itself stores 64-bit integers or doubles; for more digits, use TEXT",
  },
  {
    type: "DECIMAL(12,2)",
    values: [
      ["1.10", "1.1"],
      ["'-9999999999.99'", "-9999999999.99"],
    ],
    remark: "a double, see below",
  },
  { type: "BOOLEAN", values: same("1", "0"), remark: "a number, see below" },
  {
    type: "DATE",
    values: [
      ["'2024-02-29'", '"2024-02-29"'],
      ["'2024-02-29 12:30:00'", '"2024-02-29"'],
      ["1709209800", '"2024-02-29"'],
    ],
    remark: "strings (`YYYY-MM-DD`), and integers as seconds since 1970",
  },
  {
    type: "DATETIME",
    values: [
      ["'2024-02-29 12:30:00'", '"2024-02-29T12:30:00"'],
      ["'2024-02-29T12:30:00.250Z'", '"2024-02-29T12:30:00.250000"'],
      ["1709209800", '"2024-02-29T12:30:00"'],
    ],
    remark: "also `TIMESTAMP`; strings, without their offset, and integers as seconds since 1970",
  },
  { type: "JSON", values: [[`'{"a": [1.50]}'`, `"{\\"a\\": [1.50]}"`]], remark: "a string, see below" },
  { type: "UUID", values: strings("0190a1b2-0000-7000-8000-000000000001") },
  { type: "ANY", values: strings("a"), remark: "and each unknown type: a string; other values: see below" },
  {
    type: "no type",
    values: [
      ["x'00ff'", '"AP8="'],
      ["'a'", '"YQ=="'],
      ["15", '"MTU="'],
    ],
    remark: "bytes, of numbers those of their digits; see below",
  },
];

const inSqlite = (value: string): { readonly template: string } => ({
  template: `SELECT v FROM sqlite_query('shop', 'SELECT ${value} AS v FROM t')`,
});
const asStrings = { init: "SET GLOBAL sqlite_all_varchar = true" };

const exceptions: readonly Exception[] = [
  {
    type: "INTEGER",
    value: "'abc'",
    returned: 'column was declared as integer, found "abc" of type "text" instead',
    instead: asStrings,
    json: '"abc"',
  },
  {
    type: "INTEGER",
    value: "1.5",
    returned: 'column was declared as integer, found "1.5" of type "float" instead',
    instead: asStrings,
    json: '"1.5"',
  },
  {
    type: "REAL",
    value: "'abc'",
    returned: 'expected float or integer, found "abc" of type "text" instead',
    instead: inSqlite("CAST(v AS TEXT)"),
    json: '"abc"',
  },
  {
    type: "TEXT",
    value: "x'6162'",
    returned: 'column was declared as text, found "ab" of type "blob" instead',
    instead: inSqlite("hex(v)"),
    json: '"6162"',
  },
  {
    type: "ANY",
    value: "1",
    returned: 'column was declared as text, found "1" of type "integer" instead',
    instead: asStrings,
    json: '"1"',
  },
  { type: "no type", value: "15", returned: '"MTU="', instead: asStrings, json: '"15"' },
  {
    type: "NUMERIC",
    value: "9007199254740993",
    returned: "9007199254740992",
    instead: { template: "SELECT v::BIGINT AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: "9007199254740993",
  },
  {
    type: "DECIMAL(12,2)",
    value: "1.10",
    returned: "1.1",
    instead: { template: "SELECT v::DECIMAL(12,2) AS v FROM shop.t" },
    json: "1.10",
  },
  {
    type: "BOOLEAN",
    value: "1",
    returned: "1",
    instead: { template: "SELECT v::BOOLEAN AS v FROM shop.t" },
    json: "true",
  },
  {
    type: "DATE",
    value: "20240229",
    returned: '"1970-08-23"',
    instead: { template: "SELECT strptime(v, '%Y%m%d')::DATE AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: '"2024-02-29"',
  },
  {
    type: "DATE",
    value: "2460369.5",
    returned: '"1970-01-29"',
    instead: inSqlite("date(v)"),
    json: '"2024-02-29"',
  },
  {
    type: "DATE",
    value: "'29.02.2024'",
    returned: 'invalid date field format: "29.02.2024"',
    instead: { template: "SELECT strptime(v, '%d.%m.%Y')::DATE AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: '"2024-02-29"',
  },
  {
    type: "DATETIME",
    value: "'2024-02-29T12:30:00+02:00'",
    returned: '"2024-02-29T12:30:00"',
    instead: { template: "SELECT v::TIMESTAMPTZ AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: '"2024-02-29T10:30:00Z"',
  },
  {
    type: "TIMESTAMP",
    value: "1709209800250",
    returned: '"+56132-09-13T20:04:10"',
    instead: { template: "SELECT epoch_ms(v::BIGINT) AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: '"2024-02-29T12:30:00.250000"',
  },
  {
    type: "TIME",
    value: "'12:30:00'",
    returned: 'invalid timestamp field format: "12:30:00"',
    instead: { template: "SELECT v::TIME AS v FROM sqlite_query('shop', 'SELECT v FROM t')" },
    json: '"12:30:00"',
  },
  {
    type: "JSON",
    value: `'{"a": [1.50]}'`,
    returned: '"{\\"a\\": [1.50]}"',
    instead: { template: "SELECT v::JSON AS v FROM shop.t" },
    json: '{"a": [1.50]}',
  },
];

export const sqliteTypes: SourceTypes = { setup: [], types, exceptions };
