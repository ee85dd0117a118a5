import type { ColumnType } from "../../result/column.ts";
import * as calendar from "../../result/text/calendar.ts";
import * as digits from "../../result/text/digits.ts";
import { FLOAT_WIDTH, writeDouble, writeSingle } from "../../result/text/float.ts";
import { UUID_WIDTH, writeUuid } from "../../result/text/uuid.ts";
import { type Literal, literal, paddedLength, writeLiteral } from "./literal.ts";
import { reserve, type Sink, viewOf } from "./sink.ts";
import { inLayout, type Put, type Writer, writeNull } from "./writer.ts";

const QUOTE = 0x22;

function quoted(put: Put): Put {
  return (out, at, data, offset) => {
    out.setUint8(at, QUOTE);
    const end = put(out, at + 1, data, offset);
    out.setUint8(end, QUOTE);
    return end + 1;
  };
}

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

/** NaN and the infinities have no JSON number. */
const putSingle: Put = (out, at, data, offset) => {
  const value = data.getFloat32(offset, true);
  return Number.isFinite(value) ? writeSingle(out, at, value) : writeNull(out, at);
};
const putDouble: Put = (out, at, data, offset) => {
  const value = data.getFloat64(offset, true);
  return Number.isFinite(value) ? writeDouble(out, at, value) : writeNull(out, at);
};

const putDate: Put = (out, at, data, offset) => {
  out.setUint8(at, QUOTE);
  const end = calendar.writeDate(out, at + 1, data.getInt32(offset, true));
  out.setUint8(end, QUOTE);
  return end + 1;
};

type Of<Kind extends ColumnType["kind"]> = Extract<ColumnType, { kind: Kind }>;

export type ScalarType = Of<
  "boolean" | "integer" | "float" | "decimal" | "uuid" | "enum" | "date" | "time" | "timetz" | "timestamp" | "interval"
>;

export function scalarWriter(type: ScalarType, sink: Sink): Writer {
  switch (type.kind) {
    case "boolean":
      return { kind: "fixed", bytes: 1, width: 5, put: putBoolean };
    case "integer":
      return { kind: "fixed", bytes: type.bits >> 3, width: digits.INT128_WIDTH, put: putInteger(type) };
    case "decimal":
      return { kind: "fixed", bytes: type.bits >> 3, width: digits.INT128_WIDTH + 3, put: putDecimal(type) };
    case "float":
      return type.bits === 32
        ? { kind: "fixed", bytes: 4, width: FLOAT_WIDTH, put: putSingle }
        : { kind: "fixed", bytes: 8, width: FLOAT_WIDTH, put: putDouble };
    case "date":
      return { kind: "fixed", bytes: 4, width: calendar.DATE_WIDTH + 2, put: putDate };
    case "time":
      return { kind: "fixed", bytes: 8, width: calendar.TIME_WIDTH + 2, put: quoted(calendar.timeWriter(type.unit)) };
    case "timetz":
      return { kind: "fixed", bytes: 16, width: calendar.TIMETZ_WIDTH + 2, put: quoted(calendar.writeTimeWithZone) };
    case "timestamp":
      return {
        kind: "fixed",
        bytes: 8,
        width: calendar.TIMESTAMP_WIDTH + 2,
        put: quoted(calendar.timestampWriter(type.unit, type.zoned ? "zoned" : "local")),
      };
    case "interval":
      return { kind: "fixed", bytes: 16, width: calendar.INTERVAL_WIDTH + 2, put: quoted(calendar.writeInterval) };
    case "uuid":
      return { kind: "fixed", bytes: 16, width: UUID_WIDTH + 2, put: quoted(writeUuid) };
    case "enum":
      return enumWriter(type, sink);
  }
}

function putInteger({ bits, signed }: Of<"integer">): Put {
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

function putDecimal({ bits, scale }: Of<"decimal">): Put {
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

/** Values are encoded when they first occur. */
function enumWriter({ bits, values }: Of<"enum">, sink: Sink): Writer {
  const known: Literal[] = [];
  const bytes = bits >> 3;
  let data = sink.view;
  return {
    kind: "bound",
    width: 4,
    bind(vector) {
      data = viewOf(inLayout(vector, "fixed").data);
    },
    write(row, at) {
      const offset = row * bytes;
      const index =
        bits === 8 ? data.getUint8(offset) : bits === 16 ? data.getUint16(offset, true) : data.getUint32(offset, true);
      const value = known[index] ?? literal(JSON.stringify(values.at(index) ?? ""));
      known[index] = value;
      reserve(sink, at, paddedLength(value));
      return writeLiteral(sink.view, at, value);
    },
  };
}
