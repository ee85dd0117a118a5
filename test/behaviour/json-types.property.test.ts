import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { type JsonDatabase, openJsonDatabase } from "./json-rows.ts";

let database: JsonDatabase;
beforeAll(async () => {
  database = await openJsonDatabase();
});

/** Random values of a type as SQL texts, and what the JSON of one must be, given the text that DuckDB makes of it. */
interface Case {
  readonly type: string;
  readonly values: fc.Arbitrary<string>;
  readonly json: (text: string) => string;
}

const same = (text: string) => text;
const quoted = (text: string) => JSON.stringify(text);
const digits = (value: bigint) => value.toString();

const bits = (count: number) => fc.bigInt({ min: -(2n ** BigInt(count - 1)), max: 2n ** BigInt(count - 1) - 1n });
const unsignedBits = (count: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(count) - 1n });

function decimal(precision: number, scale: number): Case {
  const largest = 10n ** BigInt(precision) - 1n;
  return {
    type: `DECIMAL(${precision},${scale})`,
    values: fc.bigInt({ min: -largest, max: largest }).map((value) => {
      const unsigned = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
      const point = unsigned.length - scale;
      return `${value < 0n ? "-" : ""}${unsigned.slice(0, point)}${scale > 0 ? "." : ""}${unsigned.slice(point)}`;
    }),
    // DuckDB leaves the zero out when all digits stand behind the point.
    json: (text) => text.replace(/^(-?)\./, "$10."),
  };
}

/** DuckDB writes `2024-01-01 12:00:00.5`; fractions are cut at their last digit. */
function isoTimestamp(width: number): (text: string) => string {
  return (text) => quoted(fullFraction(text.replace(" ", "T"), width));
}

function fullFraction(text: string, width: number): string {
  const [whole = "", fraction] = text.split(".");
  return fraction === undefined ? whole : `${whole}.${fraction.padEnd(width, "0")}`;
}

const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
const timestamp = (width: number) =>
  fc.tuple(seconds, fc.integer({ min: 0, max: 10 ** width - 1 })).map(([second, part]) => {
    const text = new Date(second * 1000).toISOString().slice(0, 19);
    return width === 0 ? text : `${text}.${String(part).padStart(width, "0")}`;
  });

const CASES: readonly Case[] = [
  { type: "TINYINT", values: bits(8).map(digits), json: same },
  { type: "SMALLINT", values: bits(16).map(digits), json: same },
  { type: "INTEGER", values: bits(32).map(digits), json: same },
  { type: "BIGINT", values: bits(64).map(digits), json: same },
  { type: "HUGEINT", values: bits(128).map(digits), json: same },
  { type: "UTINYINT", values: unsignedBits(8).map(digits), json: same },
  { type: "USMALLINT", values: unsignedBits(16).map(digits), json: same },
  { type: "UINTEGER", values: unsignedBits(32).map(digits), json: same },
  { type: "UBIGINT", values: unsignedBits(64).map(digits), json: same },
  { type: "UHUGEINT", values: unsignedBits(128).map(digits), json: same },
  { type: "BIGNUM", values: bits(700).map(digits), json: same },
  decimal(4, 1),
  decimal(9, 4),
  decimal(18, 2),
  decimal(18, 18),
  decimal(38, 0),
  decimal(38, 10),
  { type: "VARCHAR", values: fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()), json: quoted },
  { type: "VARCHAR", values: fc.string({ unit: "grapheme", maxLength: 60 }), json: quoted },
  { type: "UUID", values: fc.uuid(), json: quoted },
  { type: "BIT", values: fc.stringMatching(/^[01]{1,70}$/), json: quoted },
  { type: "DATE", values: timestamp(0).map((text) => text.slice(0, 10)), json: quoted },
  { type: "TIMESTAMP_S", values: timestamp(0), json: isoTimestamp(0) },
  { type: "TIMESTAMP_MS", values: timestamp(3), json: isoTimestamp(3) },
  { type: "TIMESTAMP", values: timestamp(6), json: isoTimestamp(6) },
  { type: "TIME", values: timestamp(6).map((text) => text.slice(11)), json: (text) => quoted(fullFraction(text, 6)) },
  {
    type: "TIME_NS",
    values: timestamp(9).map((text) => text.slice(11)),
    json: (text) => quoted(fullFraction(text, 9)),
  },
  {
    type: "TIMESTAMP_NS",
    values: timestamp(9).filter((text) => text > "1678" && text < "2262"),
    json: isoTimestamp(9),
  },
];

test.each(CASES)("random $type: as DuckDB's own text", async ({ type, values, json }) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(values), { minLength: 1, maxLength: 200 }), async (rows) => {
      const literals = rows.map((value) => (value === null ? "(NULL)" : `(${sqlText(value)})`)).join(",");
      const sql = `SELECT CAST(v AS ${type}) AS x FROM (VALUES ${literals}) t(v)`;
      const texts = await database.texts(sql);
      expect(texts.map((text) => text === null)).toEqual(rows.map((value) => value === null));
      const expected = texts.map((text) => `{"x":${text === null ? "null" : json(text)}}`);
      expect(await database.json(sql)).toBe(`[${expected.join(",")}]`);
    }),
    { numRuns: 20 },
  );
});

/** NUL cannot stand in SQL text. */
function sqlText(value: string): string {
  return value
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(" || chr(0) || ");
}

test("random DOUBLE and FLOAT read back as the same number", async () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -1e9, max: 1e9 }).map((value) => value / 100),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(numbers, { minLength: 1, maxLength: 200 }), async (rows) => {
      const literals = rows.map((value) => `('${Object.is(value, -0) ? "-0" : value}')`).join(",");
      const sql = `SELECT v::DOUBLE AS d, CASE WHEN abs(v::DOUBLE) < 3e38 THEN v::DOUBLE::FLOAT END AS f FROM (VALUES ${literals}) t(v)`;
      const parsed: unknown = JSON.parse(await database.json(sql));
      // The query above has these two columns.
      const read = parsed as { d: number; f: number | null }[];
      expect(read.map((row) => row.d)).toEqual(rows);
      for (const [index, { f }] of read.entries()) {
        if (f !== null) expect(Math.fround(f)).toBe(Math.fround(rows[index] ?? 0));
      }
    }),
    { numRuns: 30 },
  );
});

test("random nested rows read back as the same values", async () => {
  const leaf = fc.option(fc.string({ unit: "grapheme", maxLength: 40 }));
  const item = fc.option(fc.record({ a: fc.option(fc.integer()), b: fc.option(fc.array(leaf, { maxLength: 5 })) }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.array(item, { maxLength: 5 })), { minLength: 1, maxLength: 50 }),
      async (rows) => {
        const literals = rows.map((row) => `(${row === null ? "NULL" : sqlText(JSON.stringify(row))})`).join(",");
        const type = "STRUCT(a INTEGER, b VARCHAR[])[]";
        const sql = `SELECT from_json(v::JSON, '[{"a":"INTEGER","b":["VARCHAR"]}]')::${type} AS x FROM (VALUES ${literals}) t(v)`;
        expect(JSON.parse(await database.json(sql))).toEqual(rows.map((x) => ({ x })));
      },
    ),
    { numRuns: 30 },
  );
});
