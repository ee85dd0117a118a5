import { tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Vector } from "../../result/chunk.ts";
import type { Column, ColumnType } from "../../result/column.ts";
import { arrow } from "./arrow.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A type, values of it, and the vector that holds such values, with garbage wherever a vector may have some. */
interface Shape {
  readonly type: ColumnType;
  readonly values: fc.Arbitrary<Json>;
  vector(values: readonly Json[]): Vector;
}

function validityOf(values: readonly Json[]): Uint8Array | undefined {
  if (values.every((value) => value !== null)) return undefined;
  const bits = new Uint8Array(Math.ceil(values.length / 64) * 8).fill(0xff);
  values.forEach((value, row) => {
    if (value === null) bits[row >> 3] = (bits[row >> 3] ?? 0) & ~(1 << (row & 7));
  });
  return bits;
}

const numbers: Shape = {
  type: { kind: "integer", bits: 32, signed: true },
  values: fc.integer(),
  vector(values) {
    const data = Int32Array.from(values, (value) => (typeof value === "number" ? value : 0x5ec4e7));
    return { layout: "fixed", validity: validityOf(values), data: new Uint8Array(data.buffer) };
  },
};

const booleans: Shape = {
  type: { kind: "boolean" },
  values: fc.boolean(),
  vector(values) {
    const data = Uint8Array.from(values, (value) => (value === null ? 0xff : value === true ? 1 : 0));
    return { layout: "fixed", validity: validityOf(values), data };
  },
};

/** The last row stands first in memory. */
const texts: Shape = {
  type: { kind: "text" },
  values: fc.string({ unit: "grapheme", maxLength: 30 }),
  vector(values) {
    const bytes = values.map((value) => Buffer.from(typeof value === "string" ? value : ""));
    const starts = new Uint32Array(values.length);
    const lengths = new Uint32Array(values.length);
    let end = 0;
    for (let row = values.length - 1; row >= 0; row--) {
      const garbage = values[row] === null;
      starts[row] = garbage ? 0xffff : end;
      lengths[row] = garbage ? 0xffff : (bytes[row]?.length ?? 0);
      end += bytes[row]?.length ?? 0;
    }
    return { layout: "bytes", validity: validityOf(values), starts, lengths, bytes: Buffer.concat(bytes.toReversed()) };
  },
};

/** Items that no list holds lie between those of any two. */
function listOf(item: Shape): Shape {
  return {
    type: { kind: "list", item: item.type },
    values: fc.array(fc.option(item.values), { maxLength: 4 }),
    vector(values) {
      const items: Json[] = [];
      const starts = new Uint32Array(values.length);
      const lengths = new Uint32Array(values.length);
      for (let row = values.length - 1; row >= 0; row--) {
        const value = values[row];
        starts[row] = Array.isArray(value) ? items.length : 0xffff;
        lengths[row] = Array.isArray(value) ? value.length : 0xffff;
        if (Array.isArray(value)) items.push(...value);
        if (row % 3 === 0) items.push(null);
      }
      const child = item.vector(items);
      return { layout: "list", validity: validityOf(values), starts, lengths, child, childRows: items.length };
    },
  };
}

function arrayOf(item: Shape, size: number): Shape {
  return {
    type: { kind: "array", item: item.type, size },
    values: fc.array(fc.option(item.values), { minLength: size, maxLength: size }),
    vector(values) {
      const items = values.flatMap((value) => (Array.isArray(value) ? value : Array<null>(size).fill(null)));
      return { layout: "array", validity: validityOf(values), child: item.vector(items) };
    },
  };
}

function structOf(shapes: readonly Shape[]): Shape {
  const fields: readonly Column[] = shapes.map(({ type }, index) => ({ name: `f${index}`, type }));
  return {
    type: { kind: "struct", fields },
    values: fc
      .tuple(...shapes.map((shape) => fc.option(shape.values)))
      .map((parts) => Object.fromEntries(parts.map((part, index) => [`f${index}`, part]))),
    vector(values) {
      const children = shapes.map((shape, index) => shape.vector(values.map((value) => fieldOf(value, `f${index}`))));
      return { layout: "struct", validity: validityOf(values), children };
    },
  };
}

function fieldOf(value: Json, name: string): Json {
  // A field is asked of structs only.
  return value === null ? null : ((value as { readonly [name: string]: Json })[name] ?? null);
}

const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom(numbers, booleans, texts),
    tie("shape").map(listOf),
    fc.tuple(tie("shape"), fc.integer({ min: 1, max: 3 })).map(([item, size]) => arrayOf(item, size)),
    fc.array(tie("shape"), { minLength: 1, maxLength: 3 }).map(structOf),
  ),
}));

const results = shape.chain((column) =>
  fc.record({
    column: fc.constant(column),
    chunks: fc.array(fc.array(fc.option(column.values), { minLength: 1, maxLength: 20 }), { maxLength: 4 }),
  }),
);

test("whatever the type and wherever the NULLs, the values that went in come out", () => {
  fc.assert(
    fc.property(results, ({ column, chunks }) => {
      const encoder = arrow.open([{ name: "x", type: column.type }], { kind: "rows" });
      const parts = chunks.map((values) => encoder.encode({ rows: values.length, vectors: [column.vector(values)] }));
      const table = tableFromIPC(Buffer.concat([...parts, encoder.end()]));
      expect(JSON.parse(JSON.stringify(table.toArray()))).toEqual(chunks.flat().map((x) => ({ x })));
    }),
    { numRuns: 500 },
  );
});
