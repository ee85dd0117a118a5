import type { Vector } from "../../result/chunk.ts";

/** Estimates the size of a vector as text. If the estimate is too low, the text must be copied. */
export function guessSize(vector: Vector, rows: number): number {
  switch (vector.layout) {
    case "fixed":
      return rows * 18;
    case "bytes":
      return rows * 3 + Math.ceil(vector.bytes.length * 1.05);
    case "list":
      return rows * 3 + guessSize(vector.child, vector.childRows);
    case "array":
      return rows * 3 + guessSize(vector.child, rows);
    case "struct":
    case "union":
      return vector.children.reduce((sum, child) => sum + guessSize(child, rows), rows * 3);
  }
}
