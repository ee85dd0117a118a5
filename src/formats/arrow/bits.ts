import type { Validity } from "../../result/chunk.ts";

/** `count` bits from bit `from` of `bits`. All ones if `bits` is undefined. */
export interface BitRange {
  readonly bits: Validity;
  readonly from: number;
  readonly count: number;
}

/** Writes bits to `out`, starting at bit `at`. The rest of the last byte becomes zero. */
export function putBits(out: Uint8Array, at: number, range: BitRange): void {
  const { bits } = range;
  if (bits === undefined) putOnes(out, at, range.count);
  else if ((at & 7) === 0 && (range.from & 7) === 0) putBytes(out, at >> 3, bits, range);
  else putShifted(out, at, bits, range);
}

function putOnes(out: Uint8Array, at: number, count: number): void {
  const end = at + count;
  const head = Math.min(end, (at + 7) & ~7);
  if (head > at) putPartial(out, at, 0xff, head - at);
  if (head >= end) return;
  out.fill(0xff, head >> 3, end >> 3);
  if ((end & 7) !== 0) out[end >> 3] = (1 << (end & 7)) - 1;
}

function putBytes(out: Uint8Array, at: number, bits: Uint8Array, { from, count }: BitRange): void {
  const first = from >> 3;
  const whole = count >> 3;
  out.set(bits.subarray(first, first + whole), at);
  if ((count & 7) !== 0) out[at + whole] = (bits[first + whole] ?? 0) & ((1 << (count & 7)) - 1);
}

function putShifted(out: Uint8Array, at: number, bits: Uint8Array, { from, count }: BitRange): void {
  // Fills the current byte of `out`, then builds each further byte from two adjacent bytes of `bits`.
  const head = Math.min(count, -at & 7);
  if (head > 0) putPartial(out, at, eightBits(bits, from), head);
  let target = (at + head) >> 3;
  let source = from + head;
  let left = count - head;
  for (; left >= 8; left -= 8) {
    out[target] = eightBits(bits, source);
    target += 1;
    source += 8;
  }
  if (left > 0) out[target] = eightBits(bits, source) & ((1 << left) - 1);
}

/** The 8 bits starting at bit `from`. */
function eightBits(bits: Uint8Array, from: number): number {
  const byte = from >> 3;
  const shift = from & 7;
  const low = (bits[byte] ?? 0) >> shift;
  // The next byte may be out of bounds, and such a read is slow.
  return shift === 0 || byte + 1 >= bits.length ? low : (low | ((bits[byte + 1] ?? 0) << (8 - shift))) & 0xff;
}

/** Writes `count` bits within one byte. Keeps the bits before them and zeroes the bits after them. */
function putPartial(out: Uint8Array, at: number, value: number, count: number): void {
  const shift = at & 7;
  const before = shift === 0 ? 0 : (out[at >> 3] ?? 0) & ((1 << shift) - 1);
  out[at >> 3] = before | ((value & ((1 << count) - 1)) << shift);
}

const ONES_IN_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/** How many bits are set. */
export function countOnes(bits: Uint8Array): number {
  let ones = 0;
  for (let index = 0; index < bits.length; index++) ones += ONES_IN_BYTE[bits[index] ?? 0] ?? 0;
  return ones;
}
