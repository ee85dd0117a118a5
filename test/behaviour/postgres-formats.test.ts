import { expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { serveOverPostgres } from "../postgres-engine.ts";

const test = testNeeding(missingPostgres);
const server = sharedPostgres();

/** Values that both engines have, as Postgres and as DuckDB write them. */
const SHARED: readonly (readonly [name: string, postgres: string, duckdb?: string])[] = [
  ["boolean", "true"],
  ["int2", "'-5'::smallint"],
  ["int4", "2147483647::integer"],
  ["int8", "'-9223372036854775808'::bigint"],
  ["float4", "1.5::real"],
  ["float8", "0.1::double precision", "0.1::double"],
  ["nan", "'NaN'::double precision", "'NaN'::double"],
  ["infinite", "'-Infinity'::double precision", "'-Infinity'::double"],
  ["decimal4", "'-12.5'::numeric(4,2)", "-12.5::decimal(4,2)"],
  ["decimal9", "1234.5::numeric(9,3)", "1234.5::decimal(9,3)"],
  ["decimal18", "'-0.00001'::numeric(18,5)", "-0.00001::decimal(18,5)"],
  ["decimal18 wide", "9999999999999.99999::numeric(18,5)", "9999999999999.99999::decimal(18,5)"],
  [
    "decimal38",
    "'-123456789012345678901234567890.12345678'::numeric(38,8)",
    "'-123456789012345678901234567890.12345678'::decimal(38,8)",
  ],
  ["decimal38 small", "10000::numeric(38,0)", "10000::decimal(38,0)"],
  ["text", "E'a\"b\\\\c\\n\\u00e9\\U0001F600,''x'", "'a\"b\\c' || chr(10) || 'é😀,''x'"],
  ["varchar", "'abc'::varchar(10)"],
  ["empty", "''::text"],
  ["json", `'{"b": [1, 2.50, null], "a": "x"}'::json`],
  ["bytea", "'\\x00ff41'::bytea", "'\\x00\\xFF\\x41'::blob"],
  ["bits", "B'01011'", "'01011'::bit"],
  ["uuid", "'00112233-4455-6677-8899-aabbccddeeff'::uuid"],
  ["date", "date '2024-02-29'"],
  ["early date", "date '0044-03-15 BC'", "date '0044-03-15 (BC)'"],
  ["infinite date", "date 'infinity'"],
  ["least date", "date '-infinity'"],
  ["time", "time '12:34:56.789012'"],
  ["timetz", "'12:34:56.5+02:30'::timetz"],
  ["timestamp", "timestamp '2024-02-29 12:34:56.789012'"],
  ["timestamp before 1970", "timestamp '1901-12-31 23:59:59.000001'"],
  ["infinite timestamp", "timestamp '-infinity'"],
  ["timestamptz", "timestamptz '2024-02-29 12:34:56.5+00'"],
  [
    "interval",
    "interval '14 months 3 days 4 hours 5.006 seconds'",
    "interval '14 months' + interval '3 days' + interval '4 hours' + interval '5006 milliseconds'",
  ],
  ["list", "ARRAY[1, NULL, 3]", "[1, NULL, 3]::integer[]"],
  ["texts", "ARRAY['a,b', '', NULL, 'NULL']", "['a,b', '', NULL, 'NULL']"],
  ["dates", "ARRAY[date '2024-01-01']", "[date '2024-01-01']"],
  ["no items", "ARRAY[]::text[]", "[]::varchar[]"],
];

const FORMATS = ["json", "ndjson", "csv", "arrow", "parquet"];

test("every type that both engines have is written in the same way, NULL or not, in all formats", async () => {
  const columns = (of: (entry: (typeof SHARED)[number]) => string): string =>
    SHARED.map((entry) => `${of(entry)} AS "${entry[0]}"`).join(",\n");
  const values = columns(([, value, other]) => `CASE WHEN i = 1 THEN ${other ?? value} END`);
  await using service = await serveOverPostgres(await server(), {
    setup: `CREATE TABLE t AS SELECT ${columns(([, value]) => value)}; INSERT INTO t DEFAULT VALUES`,
    more: "  embedded: {}\n",
    files: {
      "pg.yaml": "url-path: /pg\ntemplate-source: pg.sql\nconnection: [memory]\nwith-pagination: false\n",
      "pg.sql": "SELECT * FROM t",
      "duck.yaml": "url-path: /duck\ntemplate-source: duck.sql\nconnection: [embedded]\nwith-pagination: false\n",
      "duck.sql": `SELECT ${values} FROM (VALUES (1), (2)) t(i)`,
    },
  });
  for (const format of FORMATS) {
    const [one, other] = await Promise.all(
      ["pg", "duck"].map(async (name) =>
        Buffer.from(await (await service.get(`/${name}?format=${format}`)).arrayBuffer()),
      ),
    );
    if (format !== "arrow" && format !== "parquet") expect(String(one)).toBe(String(other));
    expect(one?.equals(other ?? Buffer.alloc(0)), format).toBe(true);
  }
});

/** Values that only Postgres has, and their JSON. */
const OWN: readonly (readonly [sql: string, json: string])[] = [
  ["1234567890123456789012345678901234567890.5", "1234567890123456789012345678901234567890.5"],
  ["sum(x) FROM (VALUES (1.10), (2.205)) t(x)", "3.305"],
  ["-0.00012::numeric", "-0.00012"],
  ["100000000::numeric", "100000000"],
  ["0.0000::numeric", "0.0000"],
  ["'NaN'::numeric", "null"],
  ["'Infinity'::numeric", "null"],
  ["ARRAY[1.5, 20]::numeric[]", "[1.5,20]"],
  [`'{"b": 1, "a": 12345678901234567890.10}'::jsonb`, `{"a": 12345678901234567890.10, "b": 1}`],
  ["'10.1.2.3/8'::inet", `"10.1.2.3/8"`],
  ["'[1,5)'::int4range", `"[1,5)"`],
  ["12.5::money", `"$12.50"`],
  ["point(1,2)", `"(1,2)"`],
  ["ROW(1, 'a b')", `"(1,\\"a b\\")"`],
  ["'mood'::name", `"mood"`],
  ["4294967295::oid", "4294967295"],
  ["'c'::\"char\"", `"c"`],
  ["'ok'::mood", `"ok"`],
  ["ARRAY['sad','ok']::mood[]", `["sad","ok"]`],
  ["5::positive", "5"],
  ["ARRAY['10.0.0.1']::inet[]", `"{10.0.0.1}"`],
  ["timestamptz '2024-06-01 12:00+02'", `"2024-06-01T10:00:00Z"`],
  ["NULL", "null"],
  ["'x'", `"x"`],
];

test("types that only Postgres has", async () => {
  await using service = await serveOverPostgres(await server(), {
    setup: "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    files: Object.fromEntries(
      OWN.flatMap(([sql], index) => [
        [
          `x${index}.yaml`,
          `url-path: /x${index}\ntemplate-source: x${index}.sql\nconnection: [memory]\nwith-pagination: false\n`,
        ],
        [
          `x${index}.sql`,
          sql.includes(" FROM ") ? `SELECT ${sql.replace(" FROM ", " AS v FROM ")}` : `SELECT ${sql} AS v`,
        ],
      ]),
    ),
  });
  for (const [index, [sql, json]] of OWN.entries()) {
    expect([sql, await (await service.get(`/x${index}`)).text()]).toEqual([sql, `[{"v":${json}}]`]);
  }
});

test("an enum with a new value, and a table with a new column, are noticed", async () => {
  const postgres = await server();
  await using service = await serveOverPostgres(postgres, {
    setup: "CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (m mood); INSERT INTO t VALUES ('sad')",
    files: {
      "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: [memory]\nwith-pagination: false\n",
      "x.sql": "SELECT * FROM t",
    },
  });
  expect(await service.json("/x")).toEqual([{ m: "sad" }]);
  await postgres.sql(service.dsn, "ALTER TYPE mood ADD VALUE 'glad'");
  await postgres.sql(service.dsn, "INSERT INTO t VALUES ('glad')");
  expect(await service.json("/x")).toEqual([{ m: "sad" }, { m: "glad" }]);
  await postgres.sql(service.dsn, "ALTER TABLE t ADD COLUMN n int DEFAULT 7");
  expect(await service.json("/x")).toEqual([
    { m: "sad", n: 7 },
    { m: "glad", n: 7 },
  ]);
});

test("an array of several dimensions and a decimal NaN are errors that name the way out", async () => {
  await using service = await serveOverPostgres(await server(), {
    files: {
      "a.yaml": "url-path: /a\ntemplate-source: a.sql\nconnection: [memory]\n",
      "a.sql": "SELECT ARRAY[[1,2],[3,4]] AS v",
      "n.yaml": "url-path: /n\ntemplate-source: n.sql\nconnection: [memory]\n",
      "n.sql": "SELECT 'NaN'::numeric(4,2) AS v",
    },
  });
  const [array, nan] = await Promise.all(["/a", "/n"].map(async (path) => (await service.get(path)).text()));
  expect(array).toContain("to_jsonb");
  expect(nan).toContain("double precision");
});
