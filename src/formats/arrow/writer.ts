import type { Vector } from "../../result/chunk.ts";
import type { Body } from "./body.ts";

/** Neighbouring rows of a vector: `from` to the one before `to`. */
export interface Span {
  readonly vector: Vector;
  readonly from: number;
  readonly to: number;
}

/** Writes the values of one field. Its rows come in spans: of several chunks, or from anywhere in the child of a list. */
export interface FieldWriter {
  /** How many buffers it and its children write, and how many nodes. */
  readonly buffers: number;
  readonly nodes: number;
  /** At most so many bytes, beyond the margin of every buffer. */
  measure(span: Span): number;
  write(body: Body, spans: readonly Span[], rows: number): void;
}
