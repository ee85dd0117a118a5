import type { Vector } from "../../result/chunk.ts";
import type { Body } from "./body.ts";

/** The rows of a vector from `from` up to, but not including, `to`. */
export interface Span {
  readonly vector: Vector;
  readonly from: number;
  readonly to: number;
}

/** Writes the values of one field. Its rows may be spread over several chunks, or over the child of a list. */
export interface FieldWriter {
  /** The number of buffers and nodes, including those of its children. */
  readonly buffers: number;
  readonly nodes: number;
  /** An upper bound in bytes, without the margin of every buffer. */
  measure(span: Span): number;
  write(body: Body, spans: readonly Span[], rows: number): void;
}
