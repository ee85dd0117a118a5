import { type Exception, type SourceType, type SourceTypes, same, strings } from "./source-type.ts";

const UUID = "0190a1b2-0000-7000-8000-000000000001";
const AS_TEXT = "a string, as Postgres prints it";

const types: readonly SourceType[] = [
  { type: "smallint", values: same("32767", "-32768") },
  { type: "integer", values: same("2147483647", "-2147483648") },
  { type: "bigint", values: same("9223372036854775807", "-9223372036854775808", "9007199254740993") },
  {
    type: "numeric(12,2)",
    values: [
      ["1.10", "1.10"],
      ["-9999999999.99", "-9999999999.99"],
      ["0", "0.00"],
    ],
  },
  { type: "numeric(38,10)", values: same("9999999999999999999999999999.9999999999", "-0.0000000001") },
  { type: "numeric(2,4)", values: same("0.0012") },
  {
    type: "numeric",
    values: same("0.1", "-1234567.25"),
    remark: "about 15 digits, see below; give the column a precision",
  },
  {
    type: "real",
    values: [
      ["0.1", "0.1"],
      ["3.4028235e38", "3.4028235e+38"],
      ["'NaN'", "null", "NaN"],
      ["'-Infinity'", "null", "-Infinity"],
    ],
    remark: "NaN and infinity are `null` in JSON",
  },
  {
    type: "double precision",
    values: [
      ["0.30000000000000004", "0.30000000000000004"],
      ["1.7976931348623157e308", "1.7976931348623157e+308"],
      ["5e-324", "5e-324"],
      ["'NaN'", "null", "NaN"],
      ["'Infinity'", "null", "Infinity"],
    ],
    remark: "NaN and infinity are `null` in JSON",
  },
  { type: "boolean", values: same("true", "false") },
  {
    type: "text",
    values: [
      ["'O''Brien'", `"O'Brien"`],
      [`E'a, "b"\\nc'`, `"a, \\"b\\"\\nc"`],
      ["''", '""'],
      ["'é🦆'", '"é🦆"'],
    ],
  },
  { type: "varchar(20)", values: strings("é🦆") },
  { type: "char(4)", values: strings("ab"), remark: "without the spaces that fill it up" },
  {
    type: "json",
    values: [[`'{"b":1,  "a":[1.50]}'`, `"{\\"b\\":1,  \\"a\\":[1.50]}"`]],
    remark: "a string with all its characters; cast it to JSON, see below",
  },
  {
    type: "jsonb",
    values: [
      [`'{"a": [1.50, 12345678901234567890.12]}'`, `"{\\"a\\": [1.50, 12345678901234567890.12]}"`],
      ["'null'", '"null"'],
    ],
    remark: "a string; cast it to JSON, see below",
  },
  {
    type: "integer[]",
    values: [
      ["'{1,NULL,3}'", "[1,null,3]"],
      ["'{}'", "[]"],
    ],
    remark: "all values must have one dimension, see below",
  },
  { type: "text[]", values: [[`'{a,"b,c",NULL,""}'`, '["a","b,c",null,""]']] },
  { type: "numeric(12,2)[]", values: [["'{1.10,-2.05}'", "[1.10,-2.05]"]] },
  {
    type: "integer[][]",
    values: [
      ["'{{1,2},{3,4}}'", "[[1,2],[3,4]]"],
      ["'{}'", "[]"],
    ],
    remark: "all values must have two dimensions",
  },
  { type: "mood", values: strings("happy", "sad"), remark: "an enum of Postgres" },
  {
    type: "timestamp",
    values: [
      ["'2024-02-29 12:30:00.25'", '"2024-02-29T12:30:00.250000"'],
      ["'2024-02-29 12:30:00'", '"2024-02-29T12:30:00"'],
      ["'0044-03-15 12:00:00 BC'", '"-0043-03-15T12:00:00"'],
      ["'infinity'", '"infinity"'],
      ["'-infinity'", '"-infinity"'],
    ],
    remark: "up to the year 294246, see below",
  },
  {
    type: "timestamptz",
    values: [
      ["'2024-02-29 12:30:00+02'", '"2024-02-29T10:30:00Z"'],
      ["'2024-02-29 12:30:00.000001Z'", '"2024-02-29T12:30:00.000001Z"'],
      ["'infinity'", '"infinity"'],
      ["'-infinity'", '"-infinity"'],
    ],
    remark: "in UTC",
  },
  {
    type: "date",
    values: [
      ["'2024-02-29'", '"2024-02-29"'],
      ["'0044-03-15 BC'", '"-0043-03-15"'],
      ["'5874897-12-31'", '"+5874897-12-31"'],
      ["'infinity'", '"infinity"'],
      ["'-infinity'", '"-infinity"'],
    ],
  },
  { type: "time", values: strings("12:30:00", "23:59:59.999999") },
  {
    type: "timetz",
    values: [
      ["'12:30:00+02'", '"12:30:00+02:00"'],
      ["'00:00:00.5-05:30'", '"00:00:00.500000-05:30"'],
    ],
  },
  {
    type: "interval",
    values: [
      ["'1 year 2 months 3 days 04:05:06.789'", '"P1Y2M3DT4H5M6.789000S"'],
      ["'-1 month'", '"P-1M"'],
      ["'25 hours'", '"PT25H"'],
      ["'0'", '"PT0S"'],
    ],
  },
  {
    type: "uuid",
    values: [
      [`'${UUID}'`, `"${UUID}"`],
      ["'ffffffff-ffff-ffff-ffff-ffffffffffff'", '"ffffffff-ffff-ffff-ffff-ffffffffffff"'],
    ],
  },
  {
    type: "bytea",
    values: [
      ["'\\x00ff'", '"AP8="'],
      ["''", '""'],
    ],
    remark: "base64 in JSON and CSV",
  },
  {
    type: "inet",
    values: [
      ["'192.168.0.1/24'", '"192.168.0.1/24"'],
      ["'::1'", '"::1/128"'],
    ],
    remark: "a string with the length of the prefix",
  },
  {
    type: "money",
    values: [
      ["1234.56", '"$1,234.56"'],
      ["-0.05", '"-$0.05"'],
    ],
    remark: `${AS_TEXT} (\`lc_monetary\`), see below`,
  },
  { type: "bit(4)", values: [["B'0101'", '"0101"']], remark: AS_TEXT },
  {
    type: "bit varying",
    values: [
      ["B'0101010101'", '"0101010101"'],
      ["B''", '""'],
    ],
    remark: AS_TEXT,
  },
  { type: "xml", values: strings("<a>é</a>"), remark: AS_TEXT },
  { type: "int4range", values: [["'[1,5)'", '"[1,5)"']], remark: AS_TEXT },
  { type: "tsvector", values: [["'b a'", `"'a' 'b'"`]], remark: AS_TEXT },
  { type: "point", values: [["'(1,2.5)'", '{"x":1,"y":2.5}']] },
  {
    type: "positive",
    values: [["5", '"5"']],
    remark: `a domain over integer: ${AS_TEXT}, see below`,
  },
  {
    type: "pair",
    values: [
      ["ROW(1, 'a')", '{"x":1,"y":"a"}'],
      ["ROW(NULL, '')", '{"x":null,"y":""}'],
    ],
    remark: "a composite type",
  },
];

const inPostgres = (value: string): { readonly template: string } => ({
  template: `SELECT v FROM postgres_query('shop', 'SELECT ${value} AS v FROM t')`,
});

const exceptions: readonly Exception[] = [
  {
    type: "numeric",
    value: "12345678901234567890.123456789",
    returned: "12345678901234570000",
    instead: inPostgres("v::numeric(38,9)"),
    json: "12345678901234567890.123456789",
  },
  { type: "numeric", value: "'NaN'", returned: "0", instead: inPostgres("v::double precision"), json: "null" },
  { type: "numeric", value: "'Infinity'", returned: "0", instead: inPostgres("v::text"), json: '"Infinity"' },
  {
    type: "numeric(50,10)",
    value: "1234567890123456789012345678901234567890.1234567890",
    returned: "1.234567890123457e+39",
    instead: inPostgres("v::text"),
    json: '"1234567890123456789012345678901234567890.1234567890"',
  },
  { type: "numeric(12,2)", value: "'NaN'", returned: "0.00", instead: inPostgres("nullif(v, ''NaN'')"), json: "null" },
  {
    type: "numeric(5,-2)",
    value: "12345",
    returned: "DECIMAL(5,-2) cannot be returned",
    instead: inPostgres("v::numeric(7,0)"),
    json: "12300",
  },
  {
    type: "timestamp",
    value: "'294276-12-31 23:59:59'",
    returned: '"-290278-12-14T15:58:09.448384"',
    instead: inPostgres("v::text"),
    json: '"294276-12-31 23:59:59"',
  },
  {
    type: "integer[]",
    value: "'{{1,2},{3,4}}'",
    returned: "Expected an array with 1 dimensions, but this array has 2 dimensions",
    instead: { template: "SELECT v::JSON AS v FROM postgres_query('shop', 'SELECT to_json(v) AS v FROM t')" },
    json: "[[1,2],[3,4]]",
  },
  {
    type: "integer[]",
    value: "'{{1,2},{3,4}}'",
    returned: "Expected an array with 1 dimensions, but this array has 2 dimensions",
    instead: { init: "SET GLOBAL pg_array_as_varchar = true" },
    json: '"{{1,2},{3,4}}"',
  },
  {
    type: "jsonb",
    value: `'{"a": [1.50]}'`,
    returned: '"{\\"a\\": [1.50]}"',
    instead: { template: "SELECT v::JSON AS v FROM shop.t" },
    json: '{"a": [1.50]}',
  },
  {
    type: "inet",
    value: "'::1'",
    returned: '"::1/128"',
    instead: inPostgres("host(v)"),
    json: '"::1"',
  },
  {
    type: "money",
    value: "1234.56",
    returned: '"$1,234.56"',
    instead: inPostgres("v::numeric(12,2)"),
    json: "1234.56",
  },
  { type: "positive", value: "5", returned: '"5"', instead: inPostgres("v"), json: "5" },
];

export const postgresTypes: SourceTypes = {
  setup: [
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    "CREATE TYPE pair AS (x integer, y text)",
  ],
  types,
  exceptions,
};
