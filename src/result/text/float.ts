/** Writes floats as the shortest decimal that parses to the same number. The parameters are explained in digits.ts. */

import { writeFour, writeInteger, writeNatural, writeText } from "./digits.ts";

export const FLOAT_WIDTH = 28;

const ZERO = 48;
const MINUS = 45;
const POINT = 46;
const BILLION = 1_000_000_000;

/** The powers of ten that a double represents exactly. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

/** The upper half (26 bits) of each power of ten. Products of halves are exact. */
const POWERS_UPPER = POWERS_OF_TEN.map(upperHalf);

/** Half the distance between a double and the next one, by biased exponent. */
const HALF_STEP = new Float64Array(2048).map((_, exponent) => 2 ** (exponent - 1023 - 53));

/** By biased exponent of a finite double: the decimal exponent of its smallest double, and the number at which the next decimal exponent starts. */
const EXPONENT = new Int16Array(2047);
const NEXT_EXPONENT_FROM = new Float64Array(2047);
for (let exponent = 0; exponent < EXPONENT.length; exponent++) {
  const decimal = Math.floor(Math.log10(2 ** (exponent - 1023)));
  EXPONENT[exponent] = decimal;
  // Three or four of them share it, and every startup waits for this.
  const isNew = exponent === 0 || EXPONENT[exponent - 1] !== decimal;
  NEXT_EXPONENT_FROM[exponent] = isNew ? Number(`1e${decimal + 1}`) : (NEXT_EXPONENT_FROM[exponent - 1] ?? 0);
}

/** Closer than this to a rounding boundary, this arithmetic may be wrong, so a slower exact conversion is used. */
const DOUBT = 1e-6;

function upperHalf(value: number): number {
  const scaled = value * 134_217_729;
  return scaled - (scaled - value);
}

/** The number of trailing zeros in a group of four digits. */
const ZEROS_AT_END = new Uint8Array(10_000);
for (const power of [10, 100, 1000, 10_000]) {
  for (let value = 0; value < ZEROS_AT_END.length; value += power) ZEROS_AT_END[value] = Math.log10(power);
}

/** To read the bits of a double. */
const double = new Float64Array(1);
const words = new Int32Array(double.buffer);
const UPPER_WORD = new Uint8Array(Float64Array.of(-1).buffer)[7] === 0xbf ? 1 : 0;

/** Writes a finite double as JavaScript does, except that negative zero keeps its sign (`-0.0`). */
export function writeDouble(out: DataView, at: number, value: number): number {
  if (value === (value | 0) && (value !== 0 || 1 / value > 0)) return writeInteger(out, at, value);
  if (value > 0) return writePositive(out, at, value);
  if (value === 0) return writeText(out, at, "-0.0");
  out.setUint8(at, MINUS);
  return writePositive(out, at + 1, -value);
}

/** Writes a finite single as the shortest decimal that is nearer to it than to any other single. */
export function writeSingle(out: DataView, at: number, value: number): number {
  return writeDouble(out, at, nearestDouble(value));
}

/**
 * Scales the number to 17 digits before the point, exactly, as a sum of two doubles. The boundaries halfway to the adjacent
 * doubles are then 1 to 22 apart. If a multiple of 100 is between them, it is the shortest decimal (15 digits or fewer).
 * Otherwise, it is the nearest multiple of 10 between them, or else the nearest integer.
 */
function writePositive(out: DataView, at: number, value: number): number {
  if (value < 1e-6 || value >= 1e15) return writeText(out, at, String(value));
  if (value === Math.floor(value)) return writeNatural(out, at, value);
  double[0] = value;
  const word = words[UPPER_WORD] ?? 0;
  // The next double below a power of two is nearer than the next one above.
  if ((word & 0xf_ffff) === 0 && words[1 - UPPER_WORD] === 0) return writeText(out, at, String(value));
  const biased = word >>> 20;
  const exponent = (EXPONENT[biased] ?? 0) + (value >= (NEXT_EXPONENT_FROM[biased] ?? 0) ? 1 : 0);
  const power = POWERS_OF_TEN[16 - exponent] ?? 0;

  const scaled = value * power;
  const valueUpper = upperHalf(value);
  const valueLower = value - valueUpper;
  const powerUpper = POWERS_UPPER[16 - exponent] ?? 0;
  const powerLower = power - powerUpper;
  const error =
    valueUpper * powerUpper - scaled + valueUpper * powerLower + valueLower * powerUpper + valueLower * powerLower;

  let top = Math.floor(scaled * 1e-9);
  let low = scaled - top * BILLION + error;
  if (low < 0) {
    top -= 1;
    low += BILLION;
  }
  let rest = shortestNear(low, (HALF_STEP[biased] ?? 0) * power);
  if (rest >= BILLION) {
    top += 1;
    rest -= BILLION;
  }
  if (rest < 0 || top < 10_000_000 || top > 99_999_999) return writeText(out, at, String(value));
  return exponent < 0 ? writeBelowOne(out, at, -exponent, top, rest) : writeAboveOne(out, at, exponent, top, rest);
}

/** The integer with the most trailing zeros that is less than `half` away from `value`. -1 if too close to a boundary. */
function shortestNear(value: number, half: number): number {
  const hundreds = Math.floor(value * 0.01 + 0.5) * 100;
  const fromHundreds = Math.abs(value - hundreds);
  if (fromHundreds < half - DOUBT) return hundreds;
  if (fromHundreds < half + DOUBT) return -1;
  const tens = Math.floor(value * 0.1 + 0.5) * 10;
  const fromTens = Math.abs(value - tens);
  if (fromTens < half - DOUBT) return fromTens > 5 - DOUBT ? -1 : tens;
  if (fromTens < half + DOUBT) return -1;
  const ones = Math.floor(value + 0.5);
  return Math.abs(value - ones) > 0.5 - DOUBT ? -1 : ones;
}

/** Writes `0.00ddd`: the digits of `top` (8) and `rest` (9), from decimal place `places` on. */
function writeBelowOne(out: DataView, at: number, places: number, top: number, rest: number): number {
  writeText(out, at, "0.00000");
  return writeSeventeen(out, at + 1 + places, top, rest);
}

/** Writes `ddd.ddd`: the digits of `top` (8) and `rest` (9), with a point after the first `exponent` + 1 digits. */
function writeAboveOne(out: DataView, at: number, exponent: number, top: number, rest: number): number {
  // Writes all digits one byte to the right, then moves the integer part left to make room for the point.
  const end = writeSeventeen(out, at + 1, top, rest);
  const point = at + exponent + 1;
  for (let position = at; position < point; position++) out.setUint8(position, out.getUint8(position + 1));
  out.setUint8(point, POINT);
  return end;
}

/** Writes all 17 digits. Returns the position after the last one that is not zero. */
function writeSeventeen(out: DataView, at: number, top: number, rest: number): number {
  const first = (top / 10_000) | 0;
  const second = top - first * 10_000;
  const third = (rest / 100_000) | 0;
  const tail = rest - third * 100_000;
  const fourth = (tail / 10) | 0;
  const last = tail - fourth * 10;
  writeFour(out, at, first);
  writeFour(out, at + 4, second);
  writeFour(out, at + 8, third);
  writeFour(out, at + 12, fourth);
  out.setUint8(at + 16, ZERO + last);
  if (last !== 0) return at + 17;
  if (fourth !== 0) return at + 16 - (ZEROS_AT_END[fourth] ?? 0);
  if (third !== 0) return at + 12 - (ZEROS_AT_END[third] ?? 0);
  if (second !== 0) return at + 8 - (ZEROS_AT_END[second] ?? 0);
  return at + 4 - (ZEROS_AT_END[first] ?? 0);
}

/** The double whose shortest decimal is the shortest decimal of the single. */
function nearestDouble(value: number): number {
  const size = Math.abs(value);
  if (size === Math.floor(size) && size < 0x100_0000) return value;
  double[0] = size;
  const word = words[UPPER_WORD] ?? 0;
  if (size < 1e-6 || size >= 1e15 || (word & 0xf_ffff) === 0) return nearestDoubleBySearch(value);
  const biased = word >>> 20;
  const exponent = (EXPONENT[biased] ?? 0) + (size >= (NEXT_EXPONENT_FROM[biased] ?? 0) ? 1 : 0);
  const up = exponent <= 8;
  const power = POWERS_OF_TEN[Math.abs(8 - exponent)] ?? 0;
  // Nine digits before the point. The boundaries are then 3 to 60 away.
  const scaled = up ? size * power : size / power;
  const halfStep = (HALF_STEP[biased + 29] ?? 0) * (up ? power : 1 / power);
  for (let step = 1000; step >= 1; step /= 10) {
    const candidate = Math.round(scaled / step) * step;
    const distance = Math.abs(scaled - candidate);
    if (distance > halfStep + DOUBT) continue;
    if (distance > halfStep - DOUBT || Math.abs(distance - step / 2) < DOUBT) break;
    const nearest = up ? candidate / power : candidate * power;
    return value < 0 ? -nearest : nearest;
  }
  return nearestDoubleBySearch(value);
}

function nearestDoubleBySearch(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits));
    if (Math.fround(candidate) === value) return candidate;
  }
  return Number(value.toPrecision(9));
}
