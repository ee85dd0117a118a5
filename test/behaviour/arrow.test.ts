import * as zlib from "node:zlib";
import zstd from "@bokuweb/zstd-wasm";
import { CompressionType, compressionRegistry, type Table, tableFromIPC } from "apache-arrow";
import lz4 from "lz4-napi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { arrow } from "../../src/formats/arrow/arrow.ts";
import { endpoint, serviceFrom, type TestService } from "../service.ts";
import { type ArrowDatabase, openArrowDatabase, SHAPES } from "./arrow-rows.ts";

let database: ArrowDatabase;
beforeAll(async () => {
  database = await openArrowDatabase();
  compressionRegistry.set(CompressionType.LZ4_FRAME, {
    decode: (bytes) => lz4.decompressFrameSync(Buffer.from(bytes)),
  });
  compressionRegistry.set(CompressionType.ZSTD, { decode: await zstdDecoder() });
});

/** The other half of what packs. */
async function zstdDecoder(): Promise<(bytes: Uint8Array) => Uint8Array> {
  const { zstdDecompressSync } = zlib as { readonly zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array };
  if (zstdDecompressSync !== undefined) return zstdDecompressSync;
  // Initialises the library. Twice would break it.
  await arrow.prepare?.("zstd");
  return (bytes) => zstd.decompress(bytes);
}

/** The rows as JSON would show them: for the types that both say the same of. */
function plainRows(table: Table): unknown {
  return JSON.parse(
    JSON.stringify(table.toArray(), (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
  );
}

const SAME_IN_JSON = [
  "texts in another order",
  "enums, also inside",
  "lists of structs of lists",
  "lists in another order",
  "the same list again and again",
  "maps and structs",
  "arrays",
  "unions",
  "nothing but NULL",
];

describe.each(SAME_IN_JSON)("apache-arrow reads %s", (name) => {
  test.each([
    [0, {}],
    [1, {}],
    [2049, {}],
    [2049, { slice: 333, codec: "lz4" }],
    [300, { slice: 100 }],
    [300, { codec: "zstd" }],
  ])("%i rows, %j", async (rows, options) => {
    const sql = (SHAPES[name] ?? "").replaceAll("$ROWS", String(rows));
    const expected: unknown = JSON.parse((await database.json(sql)).toString());
    expect(plainRows(tableFromIPC(await database.arrow(sql, options)))).toEqual(expected);
  });
});

test("the types of Arrow", async () => {
  const table = tableFromIPC(await database.arrow("SELECT * FROM test_all_types()"));
  const types = Object.fromEntries(table.schema.fields.map((field) => [field.name, String(field.type)]));
  expect(types).toMatchObject({
    bool: "Bool",
    tinyint: "Int8",
    ubigint: "Uint64",
    hugeint: "Decimal[38e0]",
    uhugeint: "Decimal[39e0]",
    bignum: "Utf8",
    date: "Date32<DAY>",
    time: "Time64<MICROSECOND>",
    time_ns: "Time64<NANOSECOND>",
    time_tz: "Utf8",
    timestamp_s: "Timestamp<SECOND>",
    timestamp_ms: "Timestamp<MILLISECOND>",
    timestamp: "Timestamp<MICROSECOND>",
    timestamp_ns: "Timestamp<NANOSECOND>",
    timestamp_tz: "Timestamp<MICROSECOND, UTC>",
    dec_4_1: "Decimal[4e+1]",
    dec38_10: "Decimal[38e+10]",
    uuid: "Utf8",
    interval: "Interval<MONTH_DAY_NANO>",
    blob: "Binary",
    bit: "Utf8",
    small_enum: "Dictionary<Int8, Utf8>",
    medium_enum: "Dictionary<Int16, Utf8>",
    nested_int_array: "List<List<Int32>>",
    fixed_varchar_array: "FixedSizeList[3]<Utf8>",
    struct: "Struct<{a:Int32, b:Utf8}>",
    map: "Map<{key:Utf8, value:Utf8}>",
    geometry: "Binary",
  });
  expect(table.numRows).toBe(3);
});

test("JSON and geometry say so in the metadata of their fields", async () => {
  const table = tableFromIPC(
    await database.arrow("SELECT '[1]'::JSON AS j, [1::VARIANT] AS l, 'POINT(1 2)'::GEOMETRY AS g"),
  );
  const metadata = table.schema.fields.map((field) => [...(field.type.children?.[0] ?? field).metadata]);
  const extension = (name: string) => [
    ["ARROW:extension:name", name],
    ["ARROW:extension:metadata", "{}"],
  ];
  expect(metadata).toEqual([extension("arrow.json"), extension("arrow.json"), extension("geoarrow.wkb")]);
});

test.each([
  [2, "Int8"],
  [128, "Int8"],
  [129, "Int16"],
  [256, "Int16"],
  [300, "Int16"],
  [32_768, "Int16"],
  [32_769, "Int32"],
  [70_000, "Int32"],
])("an enum of %i values has indexes of %s", async (count, index) => {
  const values = Array.from({ length: count }, (_, value) => `'v${value}'`).join(",");
  await database.run(`CREATE OR REPLACE TYPE many AS ENUM (${values})`);
  const sql = `SELECT CASE WHEN i % 7 > 0 THEN ('v' || (i * 31 % ${count}))::many END AS e FROM range(5000) r(i)`;
  const table = tableFromIPC(await database.arrow(sql));
  expect(String(table.schema.fields[0]?.type)).toBe(`Dictionary<${index}, Utf8>`);
  expect(Array.from(table.getChildAt(0) ?? [])).toEqual(
    Array.from({ length: 5000 }, (_, i) => (i % 7 > 0 ? `v${(i * 31) % count}` : null)),
  );
});

test("24 MB of text, in batches of at most 16 MiB", async () => {
  const sql = "SELECT repeat(chr((i % 26 + 97)::INTEGER), 4000) AS t FROM range(6000) r(i)";
  const table = tableFromIPC(await database.arrow(sql));
  expect(Math.max(...table.batches.map((batch) => batch.numRows))).toBeLessThanOrEqual(4190);
  const texts = table.getChildAt(0);
  for (const row of [0, 4095, 4096, 5999]) {
    expect(texts?.get(row)).toBe(String.fromCharCode((row % 26) + 97).repeat(4000));
  }
});

describe("over HTTP", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await serviceFrom({
      ...endpoint("SELECT i AS id, 'name ' || i AS name FROM range(50000) r(i)", "with-pagination: false\n"),
      "page.yaml": "url-path: /page\ntemplate-source: page.sql\nconnection: [memory]\nwith-pagination: true\n",
      "page.sql": "SELECT i AS id, 'e' || (i % 3) AS e FROM range(1000) r(i)",
    });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  async function fetched(path: string, headers: Record<string, string> = {}) {
    const response = await service.get(path, headers);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "application/vnd.apache.arrow.stream",
    ]);
    return { response, table: tableFromIPC(new Uint8Array(await response.arrayBuffer())) };
  }

  test("all rows", async () => {
    const { table } = await fetched("/x", { accept: "application/vnd.apache.arrow.stream" });
    expect([table.numRows, table.getChild("name")?.get(49_999)]).toEqual([50_000, "name 49999"]);
  });

  test("a page, cut from the rows", async () => {
    const { table, response } = await fetched("/page?limit=7&offset=13&format=arrow");
    expect(table.getChild("id")?.toJSON().map(Number)).toEqual([13, 14, 15, 16, 17, 18, 19]);
    expect(response.headers.get("x-total-count")).toBe("1000");
  });

  test.each(["lz4", "zstd"])("packed with %s for a client that asks for it", async (codec) => {
    const { table } = await fetched("/x", { accept: `application/vnd.apache.arrow.stream;codec=${codec}` });
    expect([table.numRows, table.getChild("name")?.get(43_210)]).toEqual([50_000, "name 43210"]);
  });
});
