import { expect, test } from "vitest";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { csv } from "./csv.ts";

const columns: readonly Column[] = [
  { name: "n", type: { kind: "integer", bits: 8, signed: true } },
  { name: "t", type: { kind: "text" } },
];

const TEXTS = Buffer.from("xone,two");

/** The text is `x` in each row with a value, or `one,two` where the number is even. */
function chunkOf(...values: (number | undefined)[]): Chunk {
  const validity = Uint8Array.of(
    values.reduce<number>((bits, value, row) => bits | (Number(value !== undefined) << row), 0),
  );
  const isEven = values.map((value) => (value ?? 1) % 2 === 0);
  return {
    rows: values.length,
    vectors: [
      { layout: "fixed", validity, data: Uint8Array.from(values, (value) => value ?? 99) },
      {
        layout: "bytes",
        validity,
        starts: Uint32Array.from(isEven, (even) => (even ? 1 : 0)),
        lengths: Uint32Array.from(isEven, (even) => (even ? 7 : 1)),
        bytes: TEXTS,
      },
    ],
  };
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test("bytes that were handed out are never written to again", () => {
  const encoder = csv.open(columns, { kind: "rows" });
  const first = encoder.encode(chunkOf(1, 2));
  const second = encoder.encode(chunkOf(3));
  encoder.encode(chunkOf(4, 5, 6));
  expect(text(first)).toBe('n,t\r\n1,x\r\n2,"one,two"\r\n');
  expect(text(second)).toBe("3,x\r\n");
});

test("the header comes once: with the first chunk, or with the end", () => {
  const encoder = csv.open(columns, { kind: "rows" });
  expect(text(encoder.encode(chunkOf()))).toBe("n,t\r\n");
  expect(text(encoder.encode(chunkOf(7, undefined)))).toBe("7,x\r\n,\r\n");
  expect(text(encoder.end())).toBe("");
  expect(text(csv.open(columns, { kind: "rows" }).end())).toBe("n,t\r\n");
});

test("what JSON has around the rows has no place here", () => {
  for (const frame of [
    { kind: "page", next: "/x?offset=1", total: 3 },
    { kind: "one" },
    { kind: "write", rowsAffected: 1, returns: "many" },
  ] as const) {
    const encoder = csv.open(columns, frame);
    expect(text(encoder.encode(chunkOf(1)))).toBe("n,t\r\n1,x\r\n");
    expect(text(encoder.end())).toBe("");
  }
});

test("encoders do not share memory", () => {
  const one = csv.open(columns, { kind: "rows" });
  const other = csv.open(columns, { kind: "rows" });
  const first = one.encode(chunkOf(1));
  const second = other.encode(chunkOf(2));
  expect([text(first), text(second)]).toEqual(["n,t\r\n1,x\r\n", 'n,t\r\n2,"one,two"\r\n']);
});

test("names are fields too", () => {
  const named = ["plain", 'a"b', "a,b", "a\r\nb", "plain", "", "=x"].map(
    (name) => ({ name, type: { kind: "null" } }) as const,
  );
  expect(text(csv.open(named, { kind: "rows" }).end())).toBe('plain,"a""b","a,b","a\r\nb",plain_1,"",=x\r\n');
});

test("a vector of another layout than its type's is refused", () => {
  const encoder = csv.open([{ name: "t", type: { kind: "text" } }], { kind: "rows" });
  expect(() => encoder.encode(chunkOf(1))).toThrow("Expected a vector of layout bytes, got fixed");
});
