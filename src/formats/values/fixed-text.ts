import type { ColumnType } from "../../result/column.ts";
import * as calendar from "../../result/text/calendar.ts";
import * as digits from "../../result/text/digits.ts";
import { UUID_WIDTH, writeUuid } from "../../result/text/uuid.ts";
import type { FixedWriter, Put } from "./writer.ts";

const TRUE = 0x6575_7274;
const FALSE = 0x736c_6166;

const putBoolean: Put = (out, at, data, offset) => {
  if (data.getUint8(offset) !== 0) {
    out.setUint32(at, TRUE, true);
    return at + 4;
  }
  out.setUint32(at, FALSE, true);
  out.setUint8(at + 4, 0x65);
  return at + 5;
};

const putInt8: Put = (out, at, data, offset) => digits.writeInteger(out, at, data.getInt8(offset));
const putInt16: Put = (out, at, data, offset) => digits.writeInteger(out, at, data.getInt16(offset, true));
const putInt32: Put = (out, at, data, offset) => digits.writeInteger(out, at, data.getInt32(offset, true));
const putInt64: Put = (out, at, data, offset) =>
  digits.writeInt64(out, at, data.getInt32(offset + 4, true), data.getUint32(offset, true));
const putUint8: Put = (out, at, data, offset) => digits.writeNatural(out, at, data.getUint8(offset));
const putUint16: Put = (out, at, data, offset) => digits.writeNatural(out, at, data.getUint16(offset, true));
const putUint32: Put = (out, at, data, offset) => digits.writeNatural(out, at, data.getUint32(offset, true));
const putUint64: Put = (out, at, data, offset) =>
  digits.writeUint64(out, at, data.getUint32(offset + 4, true), data.getUint32(offset, true));

const putDate: Put = (out, at, data, offset) => calendar.writeDate(out, at, data.getInt32(offset, true));

type Of<Kind extends ColumnType["kind"]> = Extract<ColumnType, { kind: Kind }>;

/** Types of fixed size whose text is the same in every format, except for quotes. */
export type FixedTextType = Of<
  "boolean" | "integer" | "decimal" | "uuid" | "date" | "time" | "timetz" | "timestamp" | "interval"
>;

/** A writer for the text without quotes. */
export function fixedTextWriter(type: FixedTextType): FixedWriter {
  switch (type.kind) {
    case "boolean":
      return { kind: "fixed", bytes: 1, width: 5, put: putBoolean };
    case "integer":
      return { kind: "fixed", bytes: type.bits >> 3, width: digits.INT128_WIDTH, put: integerPut(type) };
    case "decimal":
      return { kind: "fixed", bytes: type.bits >> 3, width: digits.INT128_WIDTH + 3, put: decimalPut(type) };
    case "date":
      return { kind: "fixed", bytes: 4, width: calendar.DATE_WIDTH, put: putDate };
    case "time":
      return { kind: "fixed", bytes: 8, width: calendar.TIME_WIDTH, put: calendar.timeWriter(type.unit) };
    case "timetz":
      return { kind: "fixed", bytes: 16, width: calendar.TIMETZ_WIDTH, put: calendar.writeTimeWithZone };
    case "timestamp":
      return {
        kind: "fixed",
        bytes: 8,
        width: calendar.TIMESTAMP_WIDTH,
        put: calendar.timestampWriter(type.unit, type.zoned ? "zoned" : "local"),
      };
    case "interval":
      return { kind: "fixed", bytes: 16, width: calendar.INTERVAL_WIDTH, put: calendar.writeInterval };
    case "uuid":
      return { kind: "fixed", bytes: 16, width: UUID_WIDTH, put: writeUuid };
  }
}

function integerPut({ bits, signed }: Of<"integer">): Put {
  switch (bits) {
    case 8:
      return signed ? putInt8 : putUint8;
    case 16:
      return signed ? putInt16 : putUint16;
    case 32:
      return signed ? putInt32 : putUint32;
    case 64:
      return signed ? putInt64 : putUint64;
    case 128:
      return signed ? digits.writeInt128 : digits.writeUint128;
  }
}

function decimalPut({ bits, scale }: Of<"decimal">): Put {
  switch (bits) {
    case 16:
      return (out, at, data, offset) => {
        const value = data.getInt16(offset, true);
        return digits.writeDecimal64(out, at, value >> 31, value >>> 0, scale);
      };
    case 32:
      return (out, at, data, offset) => {
        const value = data.getInt32(offset, true);
        return digits.writeDecimal64(out, at, value >> 31, value >>> 0, scale);
      };
    case 64:
      return (out, at, data, offset) =>
        digits.writeDecimal64(out, at, data.getInt32(offset + 4, true), data.getUint32(offset, true), scale);
    case 128:
      return (out, at, data, offset) => digits.writeDecimal128(out, at, data, offset, scale);
  }
}
