import type { Vector } from "../../result/chunk.ts";

/** Writes the values of one type as text. */
export type Writer = FixedWriter | BoundWriter;

/** Values of `bytes` bytes each; writes the one at `offset` of `data`, in at most `width` bytes. */
export interface FixedWriter {
  readonly kind: "fixed";
  readonly width: number;
  readonly bytes: number;
  readonly put: Put;
}

/** Everything else; `width` is what a value takes beyond the bytes that `write` reserves itself. */
export interface BoundWriter {
  readonly kind: "bound";
  readonly width: number;
  bind(vector: Vector): void;
  readonly write: Write;
}

/** Writes the value at `offset` of `data` into `out` from `at` and returns the position after it. */
export type Put = (out: DataView, at: number, data: DataView, offset: number) => number;

/** Writes a valid row of the bound vector from `at` of the sink and returns the position after it. */
export type Write = (row: number, at: number) => number;

/** The vector in the layout that its type promises. */
export function inLayout<Layout extends Vector["layout"]>(
  vector: Vector,
  layout: Layout,
): Extract<Vector, { layout: Layout }> {
  if (vector.layout !== layout) throw new Error(`Expected a vector of layout ${layout}, got ${vector.layout}`);
  // TypeScript does not narrow by a type parameter; the line above has checked it.
  return vector as Extract<Vector, { layout: Layout }>;
}
