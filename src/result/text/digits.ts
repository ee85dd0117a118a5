/**
 * Writes integers and decimals as text, with all digits, and without BigInt if 64 bits suffice. All functions in this folder
 * that write text do so in `out` at `at`, and return the position after it. They may also overwrite bytes after the text, so the
 * caller must reserve the maximum width. They take separate arguments, because an object per value would be slow.
 */

/** The maximum width of a 128-bit integer, with its sign. */
export const INT128_WIDTH = 40;

const ZERO = 48;
const MINUS = 45;
const POINT = 46;
const TWO_16 = 0x1_0000;
const TWO_32 = 0x1_0000_0000;
const BILLION = 1_000_000_000;

/**
 * The strings "00" to "99" and "0000" to "9999", each as one number (first character in the lowest byte). They are computed without
 * strings, because every startup waits for them.
 */
const PAIRS = new Uint16Array(100).map((_, value) => ZERO + Math.floor(value / 10) + ((ZERO + (value % 10)) << 8));
const FOURS = new Uint32Array(10_000);
for (const [upper, first] of PAIRS.entries()) {
  for (let lower = 0; lower < 100; lower++) FOURS[upper * 100 + lower] = first + (PAIRS[lower] ?? 0) * TWO_16;
}

/** Writes an integer from 0 to 99 as two digits. */
export function writeTwo(out: DataView, at: number, value: number): number {
  out.setUint16(at, PAIRS[value] ?? 0, true);
  return at + 2;
}

/** Writes an integer from 0 to 9999 as four digits. */
export function writeFour(out: DataView, at: number, value: number): number {
  out.setUint32(at, FOURS[value] ?? 0, true);
  return at + 4;
}

/** Writes an integer below 10^8 as eight digits. */
function writeEight(out: DataView, at: number, value: number): number {
  const high = (value / 10_000) | 0;
  writeFour(out, at, high);
  return writeFour(out, at + 4, value - high * 10_000);
}

/** Writes an integer below 10^9 as nine digits. */
function writeNine(out: DataView, at: number, value: number): number {
  const high = (value / 100_000_000) | 0;
  out.setUint8(at, ZERO + high);
  return writeEight(out, at + 1, value - high * 100_000_000);
}

/** Writes an integer below 10^9 without leading zeros. */
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

/** Writes an integer from 0 to 2^53. */
export function writeNatural(out: DataView, at: number, value: number): number {
  if (value < BILLION) return writeSmall(out, at, value);
  const high = Math.floor(value / BILLION);
  return writeNine(out, writeNatural(out, at, high), value - high * BILLION);
}

/** Writes an integer from -2^53 to 2^53. */
export function writeInteger(out: DataView, at: number, value: number): number {
  if (value >= 0) return writeNatural(out, at, value);
  out.setUint8(at, MINUS);
  return writeNatural(out, at + 1, -value);
}

/** Writes a signed 64-bit integer. `high` is its signed upper half, `low` is its unsigned lower half. */
export function writeInt64(out: DataView, at: number, high: number, low: number): number {
  if (high >= 0) return writeUint64(out, at, high, low);
  out.setUint8(at, MINUS);
  return low === 0 ? writeUint64(out, at + 1, -high, 0) : writeUint64(out, at + 1, ~high, TWO_32 - low);
}

/** Writes an unsigned 64-bit integer from two unsigned halves. */
export function writeUint64(out: DataView, at: number, high: number, low: number): number {
  const value = high * TWO_32 + low;
  if (high < 0x20_0000) return writeNatural(out, at, value);
  // `value` is rounded here, so the quotient may be off by one. The remainder is exact modulo 2^32, which reveals such an error.
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

/** Writes the signed 128-bit integer at `offset` of `data` (little-endian). */
export function writeInt128(out: DataView, at: number, data: DataView, offset: number): number {
  const high = data.getInt32(offset + 4, true);
  const sign = high >> 31;
  if (data.getInt32(offset + 8, true) === sign && data.getInt32(offset + 12, true) === sign) {
    return writeInt64(out, at, high, data.getUint32(offset, true));
  }
  return writeText(out, at, int128(data, offset).toString());
}

/** Like `writeInt128`, but unsigned. */
export function writeUint128(out: DataView, at: number, data: DataView, offset: number): number {
  if (data.getInt32(offset + 8, true) === 0 && data.getInt32(offset + 12, true) === 0) {
    return writeUint64(out, at, data.getUint32(offset + 4, true), data.getUint32(offset, true));
  }
  return writeText(out, at, BigInt.asUintN(128, int128(data, offset)).toString());
}

function int128(data: DataView, offset: number): bigint {
  return (data.getBigInt64(offset + 8, true) << 64n) | data.getBigUint64(offset, true);
}

/** Writes ASCII text. */
export function writeText(out: DataView, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) out.setUint8(at + index, text.charCodeAt(index));
  return at + text.length;
}

/** Writes an integer from 0 to 2^53 as `width` digits, with leading zeros. */
export function writePadded(out: DataView, at: number, value: number, width: number): number {
  let rest = value;
  let position = at + width;
  while (position - at >= 4) {
    position -= 4;
    const next = Math.floor(rest / 10_000);
    writeFour(out, position, rest - next * 10_000);
    rest = next;
  }
  if (position - at >= 2) {
    position -= 2;
    const next = (rest / 100) | 0;
    writeTwo(out, position, rest - next * 100);
    rest = next;
  }
  if (position > at) out.setUint8(at, ZERO + rest);
  return at + width;
}

const LARGEST_EXACT = 2 ** 53;

/** Writes a signed 64-bit integer as a decimal with `scale` digits after the point. Halves as in `writeInt64`. */
export function writeDecimal64(out: DataView, at: number, high: number, low: number, scale: number): number {
  const value = high * TWO_32 + low;
  const size = Math.abs(value);
  if (scale > 15 || size >= LARGEST_EXACT) return insertPoint(out, at, writeInt64(out, at, high, low), scale);
  const power = POWERS_OF_TEN[scale] ?? 1;
  let whole = Math.floor(size / power);
  let part = size - whole * power;
  // The quotient may have been rounded up to the next integer.
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

/** Like `writeInt128`, but with `scale` digits after the point. */
export function writeDecimal128(out: DataView, at: number, data: DataView, offset: number, scale: number): number {
  return insertPoint(out, at, writeInt128(out, at, data, offset), scale);
}

/** Converts the integer between `from` and `to`, such as `110`, to `1.10`. Adds leading zeros if it has too few digits. */
function insertPoint(out: DataView, from: number, to: number, scale: number): number {
  if (scale === 0) return to;
  const first = out.getUint8(from) === MINUS ? from + 1 : from;
  const missing = Math.max(0, scale + 1 - (to - first));
  const point = to + missing - scale;
  // From the right, because every digit moves right: by the number of added zeros, and by one more after the point.
  for (let position = to - 1; position >= first; position--) {
    const moved = position + missing;
    out.setUint8(moved >= point ? moved + 1 : moved, out.getUint8(position));
  }
  for (let position = first; position < first + missing; position++)
    out.setUint8(position >= point ? position + 1 : position, ZERO);
  out.setUint8(point, POINT);
  return to + missing + 1;
}
