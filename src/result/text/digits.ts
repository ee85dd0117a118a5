/**
 * Whole numbers and decimals as text, with every digit, and without BigInt where 64 bits do. All writers in this folder
 * put bytes into `out` from `at` and return the position after them; the caller has reserved the widest text (they
 * may scribble over a few bytes behind it). Some take four arguments: an object per value would cost more than the work.
 */

/** The widest whole number of 128 bits, with its sign. */
export const INT128_WIDTH = 40;

const ZERO = 48;
const MINUS = 45;
const POINT = 46;
const TWO_32 = 0x1_0000_0000;
const BILLION = 1_000_000_000;

/** "00" to "99" and "0000" to "9999", the characters in one number (the first in the lowest byte). */
const PAIRS = Uint16Array.from({ length: 100 }, (_, value) => packed(value, 2));
const FOURS = Uint32Array.from({ length: 10_000 }, (_, value) => packed(value, 4));

function packed(value: number, digits: number): number {
  return Buffer.from(String(value).padStart(digits, "0")).readUIntLE(0, digits);
}

/** A number from 0 to 99 as two digits. */
export function writeTwo(out: DataView, at: number, value: number): number {
  out.setUint16(at, PAIRS[value] ?? 0, true);
  return at + 2;
}

/** A number from 0 to 9999 as four digits. */
export function writeFour(out: DataView, at: number, value: number): number {
  out.setUint32(at, FOURS[value] ?? 0, true);
  return at + 4;
}

/** A number below 10^8 as eight digits. */
function writeEight(out: DataView, at: number, value: number): number {
  const high = (value / 10_000) | 0;
  writeFour(out, at, high);
  return writeFour(out, at + 4, value - high * 10_000);
}

/** A number below 10^9 as nine digits. */
function writeNine(out: DataView, at: number, value: number): number {
  const high = (value / 100_000_000) | 0;
  out.setUint8(at, ZERO + high);
  return writeEight(out, at + 1, value - high * 100_000_000);
}

/** A number below 10^9 without leading zeros. */
function writeSmall(out: DataView, at: number, value: number): number {
  if (value < 10) {
    out.setUint8(at, ZERO + value);
    return at + 1;
  }
  if (value < 100) return writeTwo(out, at, value);
  if (value < 10_000) {
    const high = (value / 100) | 0;
    return writeTwo(out, writeSmall(out, at, high), value - high * 100);
  }
  if (value >= 100_000_000) return writeNine(out, at, value);
  const high = (value / 10_000) | 0;
  return writeFour(out, writeSmall(out, at, high), value - high * 10_000);
}

/** A whole number from 0 to 2^53. */
export function writeNatural(out: DataView, at: number, value: number): number {
  if (value < BILLION) return writeSmall(out, at, value);
  const high = Math.floor(value / BILLION);
  return writeNine(out, writeNatural(out, at, high), value - high * BILLION);
}

/** A whole number of at most 2^53 either way. */
export function writeInteger(out: DataView, at: number, value: number): number {
  if (value >= 0) return writeNatural(out, at, value);
  out.setUint8(at, MINUS);
  return writeNatural(out, at + 1, -value);
}

/** A signed 64-bit number: `high` is its signed upper half, `low` its unsigned lower one. */
export function writeInt64(out: DataView, at: number, high: number, low: number): number {
  if (high >= 0) return writeUint64(out, at, high, low);
  out.setUint8(at, MINUS);
  return low === 0 ? writeUint64(out, at + 1, -high, 0) : writeUint64(out, at + 1, ~high, TWO_32 - low);
}

/** An unsigned 64-bit number, given as two unsigned halves. */
export function writeUint64(out: DataView, at: number, high: number, low: number): number {
  const value = high * TWO_32 + low;
  if (high < 0x20_0000) return writeNatural(out, at, value);
  // `value` is rounded here, so the quotient may be one off; the remainder is exact modulo 2^32 and tells.
  let quotient = Math.floor(value / BILLION);
  let remainder = (low - Math.imul(quotient, BILLION)) | 0;
  if (remainder < 0) {
    quotient -= 1;
    remainder += BILLION;
  } else if (remainder >= BILLION) {
    quotient += 1;
    remainder -= BILLION;
  }
  return writeNine(out, writeNatural(out, at, quotient), remainder);
}

/** 128 bits, little-endian in `data` from `offset`. */
export function writeInt128(out: DataView, at: number, data: DataView, offset: number): number {
  const high = data.getInt32(offset + 4, true);
  const sign = high >> 31;
  if (data.getInt32(offset + 8, true) === sign && data.getInt32(offset + 12, true) === sign) {
    return writeInt64(out, at, high, data.getUint32(offset, true));
  }
  return writeText(out, at, int128(data, offset).toString());
}

/** As `writeInt128`, unsigned. */
export function writeUint128(out: DataView, at: number, data: DataView, offset: number): number {
  if (data.getInt32(offset + 8, true) === 0 && data.getInt32(offset + 12, true) === 0) {
    return writeUint64(out, at, data.getUint32(offset + 4, true), data.getUint32(offset, true));
  }
  return writeText(out, at, BigInt.asUintN(128, int128(data, offset)).toString());
}

function int128(data: DataView, offset: number): bigint {
  return (data.getBigInt64(offset + 8, true) << 64n) | data.getBigUint64(offset, true);
}

/** ASCII text. */
export function writeText(out: DataView, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) out.setUint8(at + index, text.charCodeAt(index));
  return at + text.length;
}

/** A whole number up to 2^53 with leading zeros. */
export function writePadded(out: DataView, at: number, value: number, width: number): number {
  let rest = value;
  let place = at + width;
  while (place - at >= 4) {
    place -= 4;
    const next = Math.floor(rest / 10_000);
    writeFour(out, place, rest - next * 10_000);
    rest = next;
  }
  if (place - at >= 2) {
    place -= 2;
    const next = (rest / 100) | 0;
    writeTwo(out, place, rest - next * 100);
    rest = next;
  }
  if (place > at) out.setUint8(at, ZERO + rest);
  return at + width;
}

const LARGEST_EXACT = 2 ** 53;

/** A signed 64-bit number with `scale` digits after the point. */
export function writeDecimal64(out: DataView, at: number, high: number, low: number, scale: number): number {
  const value = high * TWO_32 + low;
  const size = Math.abs(value);
  if (scale > 15 || size >= LARGEST_EXACT) return insertPoint(out, at, writeInt64(out, at, high, low), scale);
  const power = POWERS_OF_TEN[scale] ?? 1;
  let whole = Math.floor(size / power);
  let part = size - whole * power;
  // The quotient may have been rounded up to the next whole number.
  if (part < 0) {
    whole -= 1;
    part += power;
  }
  if (value < 0) out.setUint8(at, MINUS);
  const end = writeNatural(out, value < 0 ? at + 1 : at, whole);
  if (scale === 0) return end;
  out.setUint8(end, POINT);
  return writePadded(out, end + 1, part, scale);
}

const POWERS_OF_TEN = Float64Array.from({ length: 16 }, (_, power) => 10 ** power);

/** 128 bits as in `writeInt128`, with `scale` digits after the point. */
export function writeDecimal128(out: DataView, at: number, data: DataView, offset: number, scale: number): number {
  return insertPoint(out, at, writeInt128(out, at, data, offset), scale);
}

/** Turns the integer `110` from `from` to `to` into `1.10`; zeros are added in front where digits are missing. */
function insertPoint(out: DataView, from: number, to: number, scale: number): number {
  if (scale === 0) return to;
  const first = out.getUint8(from) === MINUS ? from + 1 : from;
  const missing = Math.max(0, scale + 1 - (to - first));
  const point = to + missing - scale;
  // From the right: every digit moves by the zeros that come in front, those behind the point by one more.
  for (let place = to - 1; place >= first; place--) {
    const moved = place + missing;
    out.setUint8(moved >= point ? moved + 1 : moved, out.getUint8(place));
  }
  for (let place = first; place < first + missing; place++) out.setUint8(place >= point ? place + 1 : place, ZERO);
  out.setUint8(point, POINT);
  return to + missing + 1;
}
