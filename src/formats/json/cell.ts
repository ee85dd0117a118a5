import type { Cell } from "../values/cell.ts";
import type { Sink } from "../values/sink.ts";

/** `null` as one 32-bit number. */
const NULL = 0x6c6c_756e;

export function writeNull(out: DataView, at: number): number {
  out.setUint32(at, NULL, true);
  return at + 4;
}

/** Writes the value of a row, or `null`. */
export function writeCell(sink: Sink, at: number, cell: Cell, row: number): number {
  const { validity, put } = cell;
  if (validity !== undefined && ((validity[row >> 3] ?? 0) & (1 << (row & 7))) === 0) return writeNull(sink.view, at);
  return put === undefined ? cell.write(row, at) : put(sink.view, at, cell.data, row * cell.bytes);
}
