import { countOnes, putBits } from "./bits.ts";
import { type Body, endBuffer } from "./body.ts";
import type { Span } from "./writer.ts";

/** The maximum number of bytes for the validity of a span. */
export function validitySize({ from, to }: Span): number {
  return (to - from + 7) >> 3;
}

/**
 * Writes the node of a field and its validity, which is empty if there are no NULLs. Returns the bits if there are NULLs.
 */
export function writeValidity(body: Body, spans: readonly Span[], rows: number): Uint8Array | undefined {
  const bits = spans.some(({ vector }) => vector.validity !== undefined)
    ? gatherValidity(body, spans, rows)
    : undefined;
  const nulls = bits === undefined ? 0 : rows - countOnes(bits);
  body.nodes.push(rows, nulls);
  endBuffer(body, nulls === 0 || bits === undefined ? 0 : bits.length);
  return nulls === 0 ? undefined : bits;
}

function gatherValidity(body: Body, spans: readonly Span[], rows: number): Uint8Array {
  const bits = new Uint8Array(body.bytes.buffer, body.at, (rows + 7) >> 3);
  let at = 0;
  for (const { vector, from, to } of spans) {
    putBits(bits, at, { bits: vector.validity, from, count: to - from });
    at += to - from;
  }
  return bits;
}

/** Zeroes the values of NULLs. The database does not, so they may contain data from another query. */
export function clearNulls(valid: Uint8Array | undefined, values: Words, perRow: number): void {
  if (valid === undefined) return;
  const rows = values.length / perRow;
  for (let byte = 0; byte < valid.length; byte++) {
    const bits = valid[byte] ?? 0;
    if (bits === 0xff) continue;
    const end = Math.min(rows, byte * 8 + 8);
    for (let row = byte * 8; row < end; row++) {
      if ((bits & (1 << (row & 7))) !== 0) continue;
      for (let word = row * perRow; word < (row + 1) * perRow; word++) values[word] = 0;
    }
  }
}

/** Values as words. Wider words make clearing faster. */
export type Words = Uint8Array | Uint16Array | Int32Array;
