import duckdb from "@duckdb/node-bindings";
import { loadChunk } from "../../src/engines/duckdb/load/load-vectors.ts";
import { resultColumns } from "../../src/engines/duckdb/load/logical-type.ts";
import { arrow } from "../../src/formats/arrow/arrow.ts";
import { json } from "../../src/formats/json/json.ts";
import type { Chunk } from "../../src/result/chunk.ts";
import { sliceChunk } from "../../src/result/slice-chunk.ts";

/** A database in memory whose results come back as an Arrow stream, by the loader and the writer alone. */
export interface ArrowDatabase {
  run(sql: string): Promise<void>;
  arrow(sql: string, options?: ArrowOptions): Promise<Buffer>;
  /** The same rows as JSON. */
  json(sql: string): Promise<Buffer>;
}

export interface ArrowOptions {
  readonly codec?: string;
  /** Every chunk is cut into slices of this many rows. */
  readonly slice?: number;
}

export async function openArrowDatabase(): Promise<ArrowDatabase> {
  const connection = await duckdb.connect(await duckdb.open(":memory:"));

  async function rowsOf(sql: string) {
    const statement = await duckdb.prepare(connection, sql);
    const result = await duckdb.execute_prepared_streaming(statement);
    const columns = resultColumns(result);
    const chunks: Chunk[] = [];
    for (;;) {
      const chunk = await duckdb.fetch_chunk(result);
      if (chunk === null || duckdb.data_chunk_get_size(chunk) === 0) return { columns, chunks };
      chunks.push(loadChunk(chunk, columns));
    }
  }

  return {
    async run(sql) {
      await duckdb.query(connection, sql);
    },
    async arrow(sql, { codec, slice = Number.POSITIVE_INFINITY } = {}) {
      const { columns, chunks } = await rowsOf(sql);
      if (codec !== undefined) await arrow.prepare?.(codec);
      const encoder = arrow.open(columns, { kind: "rows" }, codec);
      const parts: Uint8Array[] = [];
      for (const chunk of chunks) {
        for (let from = 0; from < chunk.rows; from += slice) {
          const to = Math.min(chunk.rows, from + slice);
          parts.push(encoder.encode(sliceChunk(chunk, columns, { from, to })));
        }
      }
      return Buffer.concat([...parts, encoder.end()]);
    },
    async json(sql) {
      const { columns, chunks } = await rowsOf(sql);
      const encoder = json.open(columns, { kind: "rows" });
      return Buffer.concat([...chunks.map((chunk) => encoder.encode(chunk)), encoder.end()]);
    },
  };
}

/** Queries whose rows have every shape, by what they show. All are in the range that other languages know dates in. */
export const SHAPES: Readonly<Record<string, string>> = {
  "numbers with NULLs": `SELECT * REPLACE (CASE WHEN n % 5 = 0 THEN NULL ELSE n END AS n) FROM (SELECT
      i AS n, (i % 200 - 100)::TINYINT AS i8, (i % 256)::UTINYINT AS u8, (i * 7 % 60000 - 30000)::SMALLINT AS i16,
      (i * 7 % 65536)::USMALLINT AS u16, (i * 65537 % 4000000000 - 2000000000)::INTEGER AS i32, (i * 65537 % 4294967296)::UINTEGER AS u32,
      (i * -4611686018427)::BIGINT AS i64, (i * 4611686018427)::UBIGINT AS u64, i * -170141183460469231731687303715::HUGEINT AS i128,
      i::UHUGEINT * 340282366920938463463374607431::UHUGEINT AS u128, (i / 7)::FLOAT AS f32, i / 7 AS f64, i % 3 = 0 AS b
    FROM range($ROWS) r(i))`,
  "decimals with NULLs": `SELECT CASE WHEN i % 3 > 0 THEN ((i % 2000 - 1000) / 10)::DECIMAL(4,1) END AS d4, ((i - 1000) / 100)::DECIMAL(9,4) AS d9,
      CASE WHEN i % 7 > 0 THEN (i - 1000)::DECIMAL(18,6) / 4 END AS d18, (i - 1000)::DECIMAL(38,10) * 12345678901234 AS d38 FROM range($ROWS) r(i)`,
  "texts with NULLs": `SELECT CASE WHEN i % 4 > 0 THEN 'tag' || (i % 100) END AS short, 'a longer text, number ' || i AS long,
      CASE WHEN i % 3 > 0 THEN repeat('é🦆', (i % 9)::INTEGER) END AS mixed, NULL::VARCHAR AS nothing, '' AS empty,
      repeat('z', (i * 37 % 400)::INTEGER) AS wide, CASE i % 3 WHEN 0 THEN ('\\x00\\xFF' || chr((i % 26 + 65)::INTEGER))::BLOB WHEN 1 THEN ''::BLOB END AS bytes
    FROM range($ROWS) r(i)`,
  "texts in another order": `SELECT 'a longer text, number ' || i AS long, 'n' || i AS short FROM range($ROWS) r(i) WHERE i % 3 > 0 ORDER BY hash(i)`,
  "dates and times with NULLs": `SELECT CASE WHEN i % 5 > 0 THEN DATE '1900-01-01' + (i * 7 % 90000)::INTEGER END AS day,
      TIMESTAMP '1950-01-01' + to_microseconds(i * 12345678901) AS us, make_timestamp_ns(i * 1234567890123 - 1000000007) AS ns,
      (TIMESTAMP '1950-01-01' + to_milliseconds(i * 1234567))::TIMESTAMP_MS AS ms, (TIMESTAMP '1950-01-01' + to_seconds(i * 12345))::TIMESTAMP_S AS s,
      CASE WHEN i % 2 > 0 THEN make_timestamptz(i * 12345678901) END AS tz, (TIME '00:00:00' + to_microseconds(i * 41234567))::TIME AS t,
      ('00:00:' || lpad((i % 60)::VARCHAR, 2, '0') || '.' || lpad((i % 999999999)::VARCHAR, 9, '0'))::TIME_NS AS tns FROM range($ROWS) r(i)`,
  "values that are text in Arrow": `SELECT CASE WHEN i % 3 > 0 THEN md5(i::VARCHAR)::UUID END AS id, i::BIT AS bits, i::BIGNUM AS big,
      ('12:00:' || lpad((i % 60)::VARCHAR, 2, '0') || '+05:30')::TIMETZ AS tz FROM range($ROWS) r(i)`,
  "enums, also inside": `SELECT CASE WHEN i % 5 > 0 THEN (['a', 'b', 'ccc'])[i % 3 + 1]::ENUM('a', 'b', 'ccc') END AS e,
      [(['x', 'y'])[i % 2 + 1]::ENUM('x', 'y'), NULL] AS l, {'e': 'q'::ENUM('q')} AS s,
      array_value('x'::ENUM('x', 'y'), (CASE WHEN i % 2 = 0 THEN 'y' END)::ENUM('x', 'y')) AS f FROM range($ROWS) r(i)`,
  "lists of structs of lists": `SELECT CASE WHEN i % 4 > 0 THEN [{'a': i, 'l': CASE WHEN i % 3 > 0 THEN ['x' || i, NULL, 'a longer text ' || i] END}, NULL,
      {'a': NULL, 'l': []}] END AS x, range(i % 5) AS r, [[i], NULL, [], [i, NULL]] AS ll FROM range($ROWS) r(i)`,
  "lists in another order":
    "SELECT l FROM (SELECT i, CASE WHEN i % 7 > 0 THEN [i::VARCHAR, 'longer text of ' || i, NULL][:i % 4] END AS l FROM range($ROWS) r(i)) WHERE i % 3 > 0 ORDER BY hash(i)",
  "the same list again and again":
    "SELECT ['a', NULL, 'a longer text than a slot'] AS l, MAP {'k': [1, 2]} AS m FROM range($ROWS)",
  "maps and structs": `SELECT CASE WHEN i % 3 > 0 THEN MAP {'k' || i: [i, NULL], 'longer key of ' || i: NULL} END AS m, MAP {} AS none,
      CASE WHEN i % 5 > 0 THEN {'a': {'b': CASE WHEN i % 2 > 0 THEN 'deep' || i END}, 'c': i % 2 = 0} END AS s FROM range($ROWS) r(i)`,
  arrays: `SELECT (CASE WHEN i % 3 > 0 THEN [i, NULL, -i] END)::BIGINT[3] AS a, [['x', 'y' || i], NULL]::VARCHAR[2][2] AS n,
      (CASE WHEN i % 2 > 0 THEN [[i], []] END)::BIGINT[][2] AS l FROM range($ROWS) r(i)`,
  unions: `SELECT CASE i % 4 WHEN 0 THEN union_value(n := i)::UNION(n BIGINT, s VARCHAR) WHEN 1 THEN union_value(s := 'text ' || i)::UNION(n BIGINT, s VARCHAR)
      WHEN 2 THEN union_value(s := NULL::VARCHAR)::UNION(n BIGINT, s VARCHAR) END AS u, {'u': union_value(b := i % 2 = 0)} AS s, [union_value(s := 'x' || i), NULL] AS l
    FROM range($ROWS) r(i)`,
  "JSON and VARIANT": `SELECT CASE WHEN i % 3 > 0 THEN ('{"a": [' || i || ', "x"]}')::JSON END AS j, {'v': [i, NULL]::VARIANT} AS v FROM range($ROWS) r(i)`,
  "nothing but NULL":
    "SELECT NULL AS n, [NULL] AS l, CASE WHEN i % 2 = 0 THEN {'n': NULL} END AS s FROM range($ROWS) r(i)",
};
