import { expect, test } from "vitest";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { json } from "./json.ts";

const columns: readonly Column[] = [{ name: "n", type: { kind: "integer", bits: 8, signed: true } }];

function chunkOf(...values: number[]): Chunk {
  return {
    rows: values.length,
    vectors: [{ layout: "fixed", validity: undefined, data: Uint8Array.from(values) }],
  };
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test("bytes that were handed out are never written to again", () => {
  const encoder = json.open(columns, { kind: "rows" });
  const first = encoder.encode(chunkOf(1, 2));
  const second = encoder.encode(chunkOf(3));
  encoder.encode(chunkOf(4, 5, 6));
  expect(text(first)).toBe('[{"n":1},{"n":2}');
  expect(text(second)).toBe(',{"n":3}');
});

test("what stands before the rows comes with the first row, or with the end", () => {
  const encoder = json.open(columns, { kind: "page", next: "", total: 1 });
  expect(text(encoder.encode(chunkOf()))).toBe("");
  expect(text(encoder.encode(chunkOf(7)))).toBe('{"data":[{"n":7}');
  expect(text(encoder.end())).toBe('],"next":"","total_count":1}');
  expect(text(json.open(columns, { kind: "rows" }).end())).toBe("[]");
});

test("encoders do not share memory", () => {
  const one = json.open(columns, { kind: "rows" });
  const other = json.open(columns, { kind: "rows" });
  const first = one.encode(chunkOf(1));
  const second = other.encode(chunkOf(2));
  expect([text(first), text(second)]).toEqual(['[{"n":1}', '[{"n":2}']);
});

test("a vector of another layout than its type's is refused", () => {
  const encoder = json.open([{ name: "t", type: { kind: "text" } }], { kind: "rows" });
  expect(() => encoder.encode(chunkOf(1))).toThrow("Expected a vector of layout bytes, got fixed");
});

test("validity of a data buffer that does not begin at its memory's start", () => {
  const bytes = Uint8Array.of(9, 9, 9, 1, 2, 3);
  const chunk: Chunk = {
    rows: 3,
    vectors: [{ layout: "fixed", validity: Uint8Array.of(0b101), data: bytes.subarray(3) }],
  };
  expect(text(json.open(columns, { kind: "rows" }).encode(chunk))).toBe('[{"n":1},{"n":null},{"n":3}');
});
