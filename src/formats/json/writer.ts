import type { Vector } from "../../result/chunk.ts";

/** Writes the values of one column (or of one nested type), as JSON. */
export interface Writer {
  /** The most bytes that a value takes beyond those that the writer reserves itself, `null` included. */
  readonly width: number;
  /** The vector that the rows of the next calls are in. */
  bind(vector: Vector): void;
  readonly write: Write;
}

/** Writes the value of a valid row at a position of the sink and returns the position after it. */
export type Write = (row: number, at: number) => number;

/** `null` as four bytes in one number. */
const NULL = 0x6c6c_756e;

export function writeNull(out: DataView, at: number): number {
  out.setUint32(at, NULL, true);
  return at + 4;
}

/** The vector in the layout that its type promises. */
export function inLayout<Layout extends Vector["layout"]>(
  vector: Vector,
  layout: Layout,
): Extract<Vector, { layout: Layout }> {
  if (vector.layout !== layout) throw new Error(`Expected a vector of layout ${layout}, got ${vector.layout}`);
  // TypeScript does not narrow by a type parameter; the line above has checked it.
  return vector as Extract<Vector, { layout: Layout }>;
}

export function bindAll(writers: readonly Writer[], vectors: readonly Vector[]): void {
  writers.forEach((writer, index) => {
    const vector = vectors[index];
    if (vector === undefined) throw new Error(`Expected ${writers.length} vectors, got ${vectors.length}`);
    writer.bind(vector);
  });
}
