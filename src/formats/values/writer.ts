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
