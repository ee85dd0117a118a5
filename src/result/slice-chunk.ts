import type { Chunk, Validity, Vector, VectorOf } from "./chunk.ts";
import type { Column, ColumnType } from "./column.ts";

/** Rows from `from` (counted from 0) up to, but not including, `to`. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/** Some rows of a chunk. */
export function sliceChunk(chunk: Chunk, columns: readonly Column[], range: RowRange): Chunk {
  if (range.from === 0 && range.to === chunk.rows) return chunk;
  const slice = createSlicer(chunk.rows, range);
  return {
    rows: range.to - range.from,
    vectors: chunk.vectors.map((vector, index) => slice(vector, columns[index]?.type)),
  };
}

function createSlicer(rows: number, range: RowRange): (vector: Vector, type: ColumnType | undefined) => Vector {
  const { from, to } = range;
  return function slice(vector, type): Vector {
    const validity = sliceValidity(vector.validity, range);
    switch (vector.layout) {
      case "fixed": {
        const width = vector.data.length / rows;
        return { ...vector, validity, data: vector.data.subarray(from * width, to * width) };
      }
      case "bytes":
        return vector.packed === true ? slicePacked(vector, validity, range) : sliceLoose(vector, validity, range);
      case "list":
        return {
          ...vector,
          validity,
          starts: vector.starts.subarray(from, to),
          lengths: vector.lengths.subarray(from, to),
        };
      case "array": {
        if (type?.kind !== "array") throw new Error("A vector does not fit its column.");
        const { size, item } = type;
        const inner = createSlicer(rows * size, { from: from * size, to: to * size });
        return { ...vector, validity, child: inner(vector.child, item) };
      }
      case "struct": {
        const fields = type?.kind === "struct" ? type.fields : [];
        return { ...vector, validity, children: vector.children.map((child, i) => slice(child, fields[i]?.type)) };
      }
      case "union": {
        const members = type?.kind === "union" ? type.members : [];
        const children = vector.children.map((child, i) => slice(child, members[i]?.type));
        return { ...vector, validity, tags: vector.tags.subarray(from, to), children };
      }
    }
  };
}

function sliceLoose(vector: VectorOf<"bytes">, validity: Validity, { from, to }: RowRange): Vector {
  return { ...vector, validity, starts: vector.starts.subarray(from, to), lengths: vector.lengths.subarray(from, to) };
}

/** Without the bytes of other rows: writers guess from them how much memory they need. */
function slicePacked(vector: VectorOf<"bytes">, validity: Validity, { from, to }: RowRange): Vector {
  const lengths = vector.lengths.subarray(from, to);
  const start = vector.starts[from] ?? 0;
  const end = to > from ? (vector.starts[to - 1] ?? 0) + (vector.lengths[to - 1] ?? 0) : start;
  const starts = vector.starts.slice(from, to).map((each) => each - start);
  return { ...vector, validity, starts, lengths, bytes: vector.bytes.subarray(start, end) };
}

function sliceValidity(validity: Validity, { from, to }: RowRange): Validity {
  if (validity === undefined) return undefined;
  const bits = new Uint8Array(Math.ceil((to - from) / 64) * 8);
  for (let row = from; row < to; row++) {
    const bit = ((validity[row >> 3] ?? 0) >> (row & 7)) & 1;
    bits[(row - from) >> 3] = (bits[(row - from) >> 3] ?? 0) | (bit << ((row - from) & 7));
  }
  return bits;
}
