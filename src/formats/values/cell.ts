import { inLayout, type Validity, type Vector, viewOf } from "../../result/chunk.ts";
import type { Put, Write, Writer } from "./writer.ts";

/** A writer and the vector that it reads: a column, a field of a struct, or the items of a list. */
export interface Cell {
  readonly width: number;
  bind(vector: Vector): void;
  validity: Validity;
  data: DataView;
  readonly bytes: number;
  /** For values of fixed size. One call fewer per value saves 13 % of the time. */
  readonly put: Put | undefined;
  readonly write: Write;
}

const NO_DATA = new DataView(new ArrayBuffer(0));

export function cellOf(writer: Writer): Cell {
  const cell: Cell = {
    width: Math.max(writer.width, 4),
    bind(vector) {
      cell.validity = vector.validity;
      if (writer.kind === "fixed") cell.data = viewOf(inLayout(vector, "fixed").data);
      else writer.bind(vector);
    },
    validity: undefined,
    data: NO_DATA,
    bytes: writer.kind === "fixed" ? writer.bytes : 0,
    put: writer.kind === "fixed" ? writer.put : undefined,
    write: writer.kind === "fixed" ? (_, at) => at : writer.write,
  };
  return cell;
}

export function bindAll(cells: readonly Cell[], vectors: readonly Vector[]): void {
  cells.forEach((cell, index) => {
    const vector = vectors[index];
    if (vector === undefined) throw new Error(`Expected ${cells.length} vectors, got ${vectors.length}`);
    cell.bind(vector);
  });
}

export function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((sum, cell) => sum + cell.width, 0);
}
