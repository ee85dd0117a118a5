import type { ColumnType } from "../../../result/column.ts";
import { type Builder, bytesBuilder, convertingBuilder, fixedBuilder, type PutFixed } from "./builder.ts";
import { numericText, specialNumeric, unscaledNumeric } from "./numeric.ts";

/** How the values of a type are returned. */
export interface ValueType {
  readonly column: ColumnType;
  /** Whether the server sends them in binary form; otherwise as text. */
  readonly isBinary: boolean;
  open(): Builder;
}

const TEXT: ColumnType = { kind: "text" };
const JSON_TYPE: ColumnType = { kind: "json" };

/** Any type, as the server shows it. */
export const asText: ValueType = { column: TEXT, isBinary: false, open: () => bytesBuilder() };
const text: ValueType = { column: TEXT, isBinary: true, open: () => bytesBuilder() };

function fixed(column: ColumnType, width: number, put: PutFixed): ValueType {
  return { column, isBinary: true, open: () => fixedBuilder(width, put) };
}

const int16: PutFixed = (to, at, bytes, start) => to.setInt16(at, bytes.readInt16BE(start), true);
const int32: PutFixed = (to, at, bytes, start) => to.setInt32(at, bytes.readInt32BE(start), true);
const int64: PutFixed = (to, at, bytes, start) => {
  to.setInt32(at + 4, bytes.readInt32BE(start), true);
  to.setInt32(at, bytes.readInt32BE(start + 4), true);
};
const copied: PutFixed = (to, at, bytes, start, length) => {
  for (let i = 0; i < length; i++) to.setUint8(at + i, bytes[start + i] ?? 0);
};

const LAST_DAY = 2 ** 31 - 1;
/** From 1970-01-01 to 2000-01-01, from which the server counts. */
const DAYS = 10_957;

const days: PutFixed = (to, at, bytes, start) => {
  const day = bytes.readInt32BE(start);
  const isInfinite = day === LAST_DAY || day === -LAST_DAY - 1;
  to.setInt32(at, isInfinite ? Math.sign(day) * LAST_DAY : day + DAYS, true);
};

const MICROSECONDS = BigInt(DAYS) * 86_400_000_000n;
const HIGH = Number(MICROSECONDS >> 32n);
const LOW = Number(MICROSECONDS & 0xffffffffn);

/** Microseconds, added in two halves: arithmetic with `bigint` would take most of the time. */
const instant: PutFixed = (to, at, bytes, start) => {
  const high = bytes.readInt32BE(start);
  const low = bytes.readUInt32BE(start + 4);
  if (high === LAST_DAY && low === 0xffffffff) return to.setBigInt64(at, 2n ** 63n - 1n, true);
  if (high === -LAST_DAY - 1 && low === 0) return to.setBigInt64(at, -(2n ** 63n) + 1n, true);
  const sum = low + LOW;
  to.setUint32(at, sum >>> 0, true);
  to.setInt32(at + 4, high + HIGH + (sum > 0xffffffff ? 1 : 0), true);
};

const interval: PutFixed = (to, at, bytes, start) => {
  to.setInt32(at, bytes.readInt32BE(start + 12), true);
  to.setInt32(at + 4, bytes.readInt32BE(start + 8), true);
  int64(to, at + 8, bytes, start, 8);
};

/** The server counts seconds west of UTC. */
const zonedTime: PutFixed = (to, at, bytes, start) => {
  int64(to, at, bytes, start, 8);
  to.setInt32(at + 8, -bytes.readInt32BE(start + 8), true);
};

const timestamp = (zoned: boolean): ValueType => fixed({ kind: "timestamp", unit: "us", zoned }, 8, instant);
const integer = (bits: 16 | 32 | 64, put: PutFixed, signed = true): ValueType =>
  fixed({ kind: "integer", bits, signed }, bits / 8, put);

/** Types by their OID, which is the same on every server. */
const plainTypes: ReadonlyMap<number, ValueType> = new Map([
  [16, fixed({ kind: "boolean" }, 1, copied)],
  [17, { column: { kind: "blob" }, isBinary: true, open: () => bytesBuilder() }],
  [19, text],
  [20, integer(64, int64)],
  [21, integer(16, int16)],
  [23, integer(32, int32)],
  [25, text],
  [26, integer(32, int32, false)],
  [114, { column: JSON_TYPE, isBinary: true, open: () => bytesBuilder() }],
  [
    700,
    fixed({ kind: "float", bits: 32 }, 4, (to, at, bytes, start) => to.setFloat32(at, bytes.readFloatBE(start), true)),
  ],
  [
    701,
    fixed({ kind: "float", bits: 64 }, 8, (to, at, bytes, start) => to.setFloat64(at, bytes.readDoubleBE(start), true)),
  ],
  [1042, text],
  [1043, text],
  [1082, fixed({ kind: "date" }, 4, days)],
  [1083, fixed({ kind: "time", unit: "us" }, 8, int64)],
  [1114, timestamp(false)],
  [1184, timestamp(true)],
  [1186, fixed({ kind: "interval" }, 16, interval)],
  [1266, fixed({ kind: "timetz" }, 16, zonedTime)],
  [1560, { column: { kind: "bit" }, isBinary: false, open: () => bytesBuilder() }],
  [1562, { column: { kind: "bit" }, isBinary: false, open: () => bytesBuilder() }],
  [2950, fixed({ kind: "uuid" }, 16, copied)],
  // Its text is preceded by a version.
  [3802, { column: JSON_TYPE, isBinary: true, open: () => bytesBuilder(1) }],
]);

const NUMERIC = 1700;
/** The modifier of a type counts itself. */
const MODIFIER = 4;

/** A type that every server has. Undefined for those that have to be looked up. */
export function plainType(oid: number, modifier: number): ValueType | undefined {
  return oid === NUMERIC ? numericType(modifier) : plainTypes.get(oid);
}

/** A numeric is a decimal if its declaration says how many digits it has. Otherwise each value has its own scale. */
function numericType(modifier: number): ValueType {
  const precision = ((modifier - MODIFIER) >> 16) & 0xffff;
  const scale = (modifier - MODIFIER) & 0x7ff;
  const isDecimal = modifier >= MODIFIER && precision <= 38 && scale <= precision;
  if (!isDecimal) {
    const column: ColumnType = { kind: "bignum", fractional: true };
    return { column, isBinary: true, open: () => convertingBuilder(numericText) };
  }
  const bits = precision <= 4 ? 16 : precision <= 9 ? 32 : precision <= 18 ? 64 : 128;
  return fixed({ kind: "decimal", precision, scale, bits }, bits / 8, (to, at, bytes, start) => {
    const special = specialNumeric(bytes, start);
    if (special !== undefined)
      throw new Error(`${special} cannot be returned as a decimal; cast the column to double precision`);
    putInteger(to, at, bits, unscaledNumeric(bytes, start, scale));
  });
}

function putInteger(to: DataView, at: number, bits: 16 | 32 | 64 | 128, value: number | bigint): void {
  if (bits === 16) to.setInt16(at, Number(value), true);
  else if (bits === 32) to.setInt32(at, Number(value), true);
  else if (typeof value === "number") {
    const high = Math.floor(value / 2 ** 32);
    to.setUint32(at, value - high * 2 ** 32, true);
    to.setInt32(at + 4, high, true);
    if (bits === 128) to.setBigInt64(at + 8, value < 0 ? -1n : 0n, true);
  } else {
    to.setBigInt64(at, BigInt.asIntN(64, value), true);
    if (bits === 128) to.setBigInt64(at + 8, value >> 64n, true);
  }
}
