import type { Vector } from "../../result/chunk.ts";

/** Estimates the bytes of text that a vector becomes. Too low an estimate costs a copy. */
export function sizeGuess(vector: Vector, rows: number): number {
  switch (vector.layout) {
    case "fixed":
      return rows * 18;
    case "bytes":
      return rows * 3 + Math.ceil(vector.bytes.length * 1.05);
    case "list":
      return rows * 3 + sizeGuess(vector.child, vector.childRows);
    case "array":
      return rows * 3 + sizeGuess(vector.child, rows);
    case "struct":
    case "union":
      return vector.children.reduce((sum, child) => sum + sizeGuess(child, rows), rows * 3);
  }
}
