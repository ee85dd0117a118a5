import { expect, test } from "vitest";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { json } from "../json/json.ts";
import { ndjson } from "./ndjson.ts";

const columns: readonly Column[] = [
  { name: "n", type: { kind: "integer", bits: 8, signed: true } },
  { name: "m", type: { kind: "integer", bits: 8, signed: true } },
];

function chunkOf(...values: number[]): Chunk {
  const data = Uint8Array.from(values);
  return {
    rows: values.length,
    vectors: [
      { layout: "fixed", validity: undefined, data },
      { layout: "fixed", validity: Uint8Array.of(0b101), data },
    ],
  };
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test("every chunk is whole lines, and nothing stands around them", () => {
  for (const frame of [{ kind: "rows" }, { kind: "page", next: "/x", total: 9 }] as const) {
    const encoder = ndjson.open(columns, frame);
    expect(text(encoder.encode(chunkOf(1, 2)))).toBe('{"n":1,"m":1}\n{"n":2,"m":null}\n');
    expect(text(encoder.encode(chunkOf()))).toBe("");
    expect(text(encoder.encode(chunkOf(3)))).toBe('{"n":3,"m":3}\n');
    expect(text(encoder.end())).toBe("");
  }
});

test("JSON with the same names, before and after, keeps its own commas", () => {
  const rows = (format: typeof json) => text(format.open(columns, { kind: "rows" }).encode(chunkOf(1, 2)));
  const before = rows(json);
  expect(rows(ndjson)).toBe('{"n":1,"m":1}\n{"n":2,"m":null}\n');
  expect(rows(json)).toBe(before);
  expect(before).toBe('[{"n":1,"m":1},{"n":2,"m":null}');
});

test("bytes that were handed out are never written to again", () => {
  const encoder = ndjson.open(columns, { kind: "rows" });
  const first = encoder.encode(chunkOf(1));
  encoder.encode(chunkOf(2, 3));
  expect(text(first)).toBe('{"n":1,"m":1}\n');
});
