import { expect, test } from "vitest";
import type { Chunk } from "./chunk.ts";
import type { Column } from "./column.ts";
import { sliceChunk } from "./slice-chunk.ts";

const integer = { kind: "integer", bits: 8, signed: true } as const;
const columns: readonly Column[] = [
  { name: "plain", type: integer },
  { name: "pair", type: { kind: "array", item: integer, size: 2 } },
  { name: "both", type: { kind: "struct", fields: [{ name: "x", type: integer }] } },
  { name: "text", type: { kind: "text" } },
];
const chunk: Chunk = {
  rows: 4,
  vectors: [
    { layout: "fixed", validity: Uint8Array.of(0b1010), data: Uint8Array.of(0, 1, 2, 3) },
    {
      layout: "array",
      validity: undefined,
      child: { layout: "fixed", validity: Uint8Array.of(0b11001100), data: Uint8Array.of(0, 0, 1, 1, 2, 2, 3, 3) },
    },
    {
      layout: "struct",
      validity: undefined,
      children: [{ layout: "fixed", validity: undefined, data: Uint8Array.of(4, 5, 6, 7) }],
    },
    {
      layout: "bytes",
      validity: undefined,
      starts: Uint32Array.of(0, 1, 2, 3),
      lengths: Uint32Array.of(1, 1, 1, 1),
      bytes: Buffer.from("abcd"),
    },
  ],
};

test("a slice holds its rows, their validity and what hangs below them", () => {
  const { rows, vectors } = sliceChunk(chunk, columns, { from: 1, to: 3 });
  expect(rows).toBe(2);
  expect(vectors).toMatchObject([
    { data: Uint8Array.of(1, 2), validity: Uint8Array.of(0b01, 0, 0, 0, 0, 0, 0, 0) },
    { child: { data: Uint8Array.of(1, 1, 2, 2), validity: Uint8Array.of(0b0011, 0, 0, 0, 0, 0, 0, 0) } },
    { children: [{ data: Uint8Array.of(5, 6) }] },
    { starts: Uint32Array.of(1, 2), lengths: Uint32Array.of(1, 1) },
  ]);
});

test("all rows are the chunk itself", () => {
  expect(sliceChunk(chunk, columns, { from: 0, to: 4 })).toBe(chunk);
});
