import type { Vector } from "../../result/chunk.ts";

/** Writes the values of one type as text. */
export type Writer = FixedWriter | BoundWriter;

/** For values that take `bytes` bytes each in a vector. Writes at most `width` bytes per value. */
export interface FixedWriter {
  readonly kind: "fixed";
  readonly width: number;
  readonly bytes: number;
  readonly put: Put;
}

/** For all other values. `width` is the maximum number of bytes per value, besides those that `write` reserves. */
export interface BoundWriter {
  readonly kind: "bound";
  readonly width: number;
  bind(vector: Vector): void;
  readonly write: Write;
}

/** Writes the value at `offset` of `data` to `out` at `at`. Returns the position after it. */
export type Put = (out: DataView, at: number, data: DataView, offset: number) => number;

/** Writes a row of the bound vector that is not NULL to the sink at `at`. Returns the position after it. */
export type Write = (row: number, at: number) => number;
