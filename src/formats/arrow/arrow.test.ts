import { tableFromIPC } from "apache-arrow";
import { expect, test, vi } from "vitest";
import type { Chunk, Vector } from "../../result/chunk.ts";
import type { Column, ColumnType } from "../../result/column.ts";
import { arrow } from "./arrow.ts";

const int8: ColumnType = { kind: "integer", bits: 8, signed: true };
const ROWS = { kind: "rows" } as const;
const NOTHING = new Uint8Array(0);

function fixed(...values: readonly number[]): Vector {
  return { layout: "fixed", validity: undefined, data: Uint8Array.from(values) };
}

function chunkOf(rows: number, ...vectors: readonly Vector[]): Chunk {
  return { rows, vectors };
}

function columnsOf(...types: readonly ColumnType[]): readonly Column[] {
  return types.map((type, index) => ({ name: `c${index}`, type }));
}

function encode(columns: readonly Column[], ...chunks: readonly Chunk[]): Buffer {
  const encoder = arrow.open(columns, ROWS);
  return Buffer.concat([...chunks.map((chunk) => encoder.encode(chunk)), encoder.end()]);
}

function read(columns: readonly Column[], ...chunks: readonly Chunk[]): unknown[] {
  const table = tableFromIPC(encode(columns, ...chunks));
  return Array.from(table.getChildAt(0) ?? [], plain);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

test("the schema comes with the first chunk, the rows in batches, the end at the end", () => {
  const encoder = arrow.open(columnsOf(int8), ROWS);
  const schema = encoder.encode(chunkOf(2, fixed(1, 2)));
  expect(tableFromIPC(schema).schema.fields.map(String)).toEqual(["c0: Int8"]);
  expect(encoder.encode(chunkOf(1, fixed(3)))).toHaveLength(0);
  const full = encoder.encode(chunkOf(16_384, fixed(...Array.from({ length: 16_384 }, () => 7))));
  expect(full.length).toBeGreaterThan(16_384);
  const end = encoder.end();
  expect([...end]).toEqual([255, 255, 255, 255, 0, 0, 0, 0]);
  const table = tableFromIPC(Buffer.concat([schema, full, end]));
  expect([table.numRows, table.batches.length]).toEqual([16_387, 1]);
});

test("no rows: the schema and the end", () => {
  for (const chunks of [[], [chunkOf(0, fixed())]]) {
    const table = tableFromIPC(encode(columnsOf(int8, { kind: "enum", bits: 8, values: ["a"] }), ...chunks));
    expect([table.numRows, table.numCols]).toEqual([0, 2]);
  }
});

test("bytes that were handed out are never written to again", () => {
  const encoder = arrow.open(columnsOf({ kind: "text" }), ROWS);
  const rows = (count: number, letter: string): Chunk => chunkOf(count, strings(Array(count).fill(letter)));
  const parts = [encoder.encode(rows(20_000, "a")), encoder.encode(rows(20_000, "b"))];
  const before = parts.map((part) => Buffer.from(part));
  parts.push(encoder.encode(rows(20_000, "c")), encoder.end());
  expect(before.map((copy, index) => copy.equals(parts[index] ?? NOTHING))).toEqual([true, true]);
  const letters = tableFromIPC(Buffer.concat(parts)).getChildAt(0);
  expect([letters?.get(0), letters?.get(39_999), letters?.get(59_999)]).toEqual(["a", "b", "c"]);
});

function strings(texts: readonly (string | null)[]): Vector {
  const bytes = Buffer.from(texts.join(""));
  const lengths = Uint32Array.from(texts, (text) => text?.length ?? 0);
  const starts = new Uint32Array(texts.length);
  for (let row = 1; row < texts.length; row++) starts[row] = (starts[row - 1] ?? 0) + (lengths[row - 1] ?? 0);
  return { layout: "bytes", validity: undefined, starts, lengths, bytes, packed: true };
}

test("strings that overlap, stand in any order and have garbage where there is no value", () => {
  const vector: Vector = {
    layout: "bytes",
    validity: Uint8Array.of(0b0101_1101),
    starts: Uint32Array.of(4, 99, 0, 0, 2, 7, 5),
    lengths: Uint32Array.of(2, 0xffff_ffff, 5, 0, 3, 1, 1),
    bytes: Buffer.from("abcdef"),
  };
  expect(read(columnsOf({ kind: "text" }), chunkOf(7, vector))).toEqual(["ef", null, "abcde", "", "cde", null, "f"]);
});

test("long and short strings that are not packed", () => {
  const bytes = Buffer.from("x".repeat(1000) + "y".repeat(1000));
  const starts = Uint32Array.of(1000, 0, 1500, 3, 1999);
  const lengths = Uint32Array.of(500, 1000, 500, 161, 1);
  const vector: Vector = { layout: "bytes", validity: undefined, starts, lengths, bytes };
  const expected = Array.from(starts, (start, row) => bytes.subarray(start, start + (lengths[row] ?? 0)).toString());
  expect(read(columnsOf({ kind: "text" }), chunkOf(5, vector))).toEqual(expected);
});

test("lists that overlap, stand in any order and leave items out", () => {
  const vector: Vector = {
    layout: "list",
    validity: Uint8Array.of(0b1101),
    starts: Uint32Array.of(3, 77, 0, 2),
    lengths: Uint32Array.of(2, 77, 3, 2),
    child: { layout: "fixed", validity: Uint8Array.of(0b10111), data: Uint8Array.of(10, 11, 12, 13, 14) },
    childRows: 5,
  };
  expect(read(columnsOf({ kind: "list", item: int8 }), chunkOf(4, vector))).toEqual([
    [null, 14],
    null,
    [10, 11, 12],
    [12, null],
  ]);
});

test("what stands in the place of a NULL is not sent", () => {
  const secret = Buffer.from("SECRETSECRETSECRETSECRETSECRETSE");
  const types: readonly ColumnType[] = [
    { kind: "integer", bits: 64, signed: true },
    { kind: "integer", bits: 16, signed: true },
    { kind: "integer", bits: 128, signed: true },
    { kind: "integer", bits: 128, signed: false },
    { kind: "decimal", precision: 18, scale: 2, bits: 64 },
    { kind: "boolean" },
    { kind: "interval" },
    { kind: "uuid" },
    { kind: "enum", bits: 8, values: Array.from({ length: 200 }, (_, index) => `v${index}`) },
  ];
  const nulls: Vector = { layout: "fixed", validity: Uint8Array.of(0), data: secret };
  const sent = encode(columnsOf(...types), chunkOf(2, ...types.map(() => nulls)));
  expect(tableFromIPC(sent).toArray().map(plain)).toHaveLength(2);
  expect(sent.includes("SE")).toBe(false);
});

test("what the memory held before is not sent", () => {
  const fresh = vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation((size) => Buffer.alloc(size, 0xaa));
  try {
    const sent = encode(
      columnsOf(int8, { kind: "text" }),
      chunkOf(1, fixed(1), strings(["x"])),
      chunkOf(1, fixed(2), strings(["y"])),
    );
    expect(fresh).toHaveBeenCalled();
    expect(sent.includes(0xaa)).toBe(false);
  } finally {
    fresh.mockRestore();
  }
});

test("the values of an enum are sent once, before the first batch", () => {
  const columns = columnsOf({ kind: "enum", bits: 8, values: ["this one value"] });
  const chunk = chunkOf(20_000, { layout: "fixed", validity: undefined, data: new Uint8Array(20_000) });
  const sent = encode(columns, chunk, chunk);
  expect(tableFromIPC(sent).batches).toHaveLength(2);
  expect(sent.toString("latin1").split("this one value")).toHaveLength(2);
});

test("a chunk of many bytes becomes several batches, a row of many bytes one", () => {
  const texts = ["a".repeat(9_000_000), "b".repeat(9_000_000), "c", "d".repeat(20_000_000)];
  const table = tableFromIPC(encode(columnsOf({ kind: "text" }), chunkOf(4, strings(texts))));
  expect(table.batches.map((batch) => batch.numRows)).toEqual([1, 2, 1]);
  expect(Array.from(table.getChildAt(0) ?? [], (text: string) => [text[0], text.length])).toEqual(
    texts.map((text) => [text[0], text.length]),
  );
});

test("booleans and validity of chunks whose rows are no multiple of 8", () => {
  const chunks = [3, 8, 13, 1, 40].map((rows, index) =>
    chunkOf(rows, {
      layout: "fixed",
      validity: index % 2 === 0 ? Uint8Array.from({ length: 8 }, () => 0b1011_0110) : undefined,
      data: Uint8Array.from({ length: rows }, (_, row) => (row % 3) & 1),
    }),
  );
  const expected = chunks.flatMap(({ rows }, index) =>
    Array.from({ length: rows }, (_, row) =>
      index % 2 === 0 && ((0b1011_0110 >> (row & 7)) & 1) === 0 ? null : ((row % 3) & 1) === 1,
    ),
  );
  expect(read(columnsOf({ kind: "boolean" }), ...chunks)).toEqual(expected);
});

test("an interval whose nanoseconds do not fit moves days of 24 hours; one that fits nowhere is refused", () => {
  const interval = (days: number, micros: bigint): Vector => {
    const data = Buffer.alloc(16);
    data.writeInt32LE(days, 4);
    data.writeBigInt64LE(micros, 8);
    return { layout: "fixed", validity: undefined, data };
  };
  const columns = columnsOf({ kind: "interval" });
  const stored = (vector: Vector): unknown[] => {
    const sent = encode(columns, chunkOf(1, vector));
    // The values are the last buffer of the batch, which the end of the stream follows.
    const at = sent.length - 8 - 16;
    return [sent.readInt32LE(at), sent.readInt32LE(at + 4), sent.readBigInt64LE(at + 8)];
  };
  expect(stored(interval(5, 9_223_372_036_854_775n))).toEqual([0, 5, 9_223_372_036_854_775_000n]);
  expect(stored(interval(5, 9_223_372_036_854_776n))).toEqual([0, 106_756, 85_636_854_776_000n]);
  expect(stored(interval(0, -(2n ** 63n)))).toEqual([0, -106_751_991, -14_454_775_808_000n]);
  expect(() => stored(interval(2 ** 31 - 1, 2n ** 62n))).toThrow("An interval is too long for Arrow.");
});

test("vectors and unions that cannot be written are refused", () => {
  expect(() => encode(columnsOf({ kind: "text" }), chunkOf(1, fixed(1)))).toThrow(
    "Expected a vector of layout bytes, got fixed",
  );
  expect(() => encode(columnsOf(int8, int8), chunkOf(1, fixed(1)))).toThrow("Expected a vector for column 1");
  const members = Array.from({ length: 129 }, (_, index) => ({ name: `m${index}`, type: int8 }));
  expect(() => arrow.open(columnsOf({ kind: "union", members }), ROWS)).toThrow("Arrow has no union of 129 members.");
});

test("a column of no type is all NULL, also inside", () => {
  const nulls: Vector = { layout: "fixed", validity: Uint8Array.of(0), data: new Uint8Array(3) };
  const columns = columnsOf({ kind: "struct", fields: columnsOf({ kind: "null" }, int8) }, { kind: "null" });
  const struct: Vector = { layout: "struct", validity: Uint8Array.of(0b101), children: [nulls, fixed(1, 2, 3)] };
  const table = tableFromIPC(encode(columns, chunkOf(3, struct, nulls)));
  expect(String(table.schema.fields[1]?.type)).toBe("Null");
  expect(table.toArray().map(plain)).toEqual([
    { c0: { c0: null, c1: 1 }, c1: null },
    { c0: null, c1: null },
    { c0: { c0: null, c1: 3 }, c1: null },
  ]);
});

test("columns of the same name get names of their own", () => {
  const columns = ["a", "a"].map((name) => ({ name, type: int8 }));
  expect(tableFromIPC(encode(columns)).schema.names).toEqual(["a", "a_1"]);
});

test("a codec must be prepared, and be known", async () => {
  await expect(arrow.prepare?.("brotli")).rejects.toThrow("Arrow has no codec brotli");
  expect(() => arrow.open(columnsOf(int8), ROWS, "brotli")).toThrow("The codec brotli has not been prepared");
});
