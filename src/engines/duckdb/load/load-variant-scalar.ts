import { viewOf } from "../../../result/chunk.ts";
import * as calendar from "../../../result/text/calendar.ts";
import * as digits from "../../../result/text/digits.ts";
import { writeDouble, writeSingle } from "../../../result/text/float.ts";
import { writeUuid } from "../../../result/text/uuid.ts";
import { wktOf } from "../../../result/text/wkt.ts";
import { bignumText, bitText, reorderUuid, unpackTimeWithZone } from "./load-converted.ts";

/** Tags of the nodes that have children. */
export const OBJECT = 29;
export const ARRAY = 30;

/** The JSON text of a node without children. The tags are those of DuckDB's storage format. */
export function scalarText(tag: number, data: Buffer, offset: number): string {
  const view = viewOf(data);
  switch (tag) {
    case 0:
      return "null";
    case 1:
      return "true";
    case 2:
      return "false";
    case 3:
      return String(data.readInt8(offset));
    case 4:
      return String(data.readInt16LE(offset));
    case 5:
      return String(data.readInt32LE(offset));
    case 6:
      return String(data.readBigInt64LE(offset));
    case 7:
      return textFrom(digits.writeInt128, view, offset);
    case 8:
      return String(data.readUInt8(offset));
    case 9:
      return String(data.readUInt16LE(offset));
    case 10:
      return String(data.readUInt32LE(offset));
    case 11:
      return String(data.readBigUInt64LE(offset));
    case 12:
      return textFrom(digits.writeUint128, view, offset);
    case 13:
      return finiteText(data.readFloatLE(offset), writeSingle);
    case 14:
      return finiteText(data.readDoubleLE(offset), writeDouble);
    case 15:
      return decimalText(data, offset);
    case 16:
      return JSON.stringify(blockAt(data, offset).toString());
    case 17:
      return quoted(blockAt(data, offset).toString("base64"));
    case 18:
      return quoted(uuidText(data, offset));
    case 19:
      return quoted(textFrom((out, at) => calendar.writeDate(out, at, view.getInt32(offset, true)), view, offset));
    case 20:
      return quoted(textFrom(calendar.timeWriter("us"), view, offset));
    case 21:
      return quoted(textFrom(calendar.timeWriter("ns"), view, offset));
    case 22:
      return quoted(textFrom(calendar.timestampWriter("s", "local"), view, offset));
    case 23:
      return quoted(textFrom(calendar.timestampWriter("ms", "local"), view, offset));
    case 24:
      return quoted(textFrom(calendar.timestampWriter("us", "local"), view, offset));
    case 25:
      return quoted(textFrom(calendar.timestampWriter("ns", "local"), view, offset));
    case 26:
      return quoted(timeWithZoneText(data.readBigUInt64LE(offset)));
    case 27:
      return quoted(textFrom(calendar.timestampWriter("us", "zoned"), view, offset));
    case 28:
      return quoted(textFrom(calendar.writeInterval, view, offset));
    case 31:
      return bignumText(blockAt(data, offset));
    case 32:
      return quoted(bitText(blockAt(data, offset)));
    case 33:
      return quoted(wktOf(blockAt(data, offset)));
    default:
      throw new Error(`A VARIANT holds a value of unknown type ${tag}; cast it to another type`);
  }
}

/** Reads a natural number stored as seven bits per byte, lowest first. `next` is the offset after it. */
export function readNatural(data: Buffer, offset: number): { readonly value: number; readonly next: number } {
  let value = 0;
  let next = offset;
  for (let scale = 1; ; scale *= 128) {
    const byte = data.readUInt8(next);
    next += 1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next };
  }
}

/** Bytes that are stored after their length. */
function blockAt(data: Buffer, offset: number): Buffer {
  const { value, next } = readNatural(data, offset);
  return data.subarray(next, next + value);
}

const scratch = Buffer.alloc(128);
const scratchView = viewOf(scratch);

function textFrom(put: calendar.ValueWriter, data: DataView, offset: number): string {
  return scratch.toString("latin1", 0, put(scratchView, 0, data, offset));
}

function finiteText(value: number, write: (out: DataView, at: number, value: number) => number): string {
  return Number.isFinite(value) ? scratch.toString("latin1", 0, write(scratchView, 0, value)) : "null";
}

/** Precision and scale, then the unscaled number in as many bytes as the precision takes. */
function decimalText(data: Buffer, offset: number): string {
  const precision = readNatural(data, offset);
  const scale = readNatural(data, precision.next);
  const stored = new DataView(new ArrayBuffer(16));
  const low = decimalLow(data, scale.next, precision.value);
  stored.setBigInt64(0, low, true);
  stored.setBigInt64(8, precision.value > 18 ? data.readBigInt64LE(scale.next + 8) : low >> 63n, true);
  return scratch.toString("latin1", 0, digits.writeDecimal128(scratchView, 0, stored, 0, scale.value));
}

function decimalLow(data: Buffer, offset: number, precision: number): bigint {
  if (precision <= 4) return BigInt(data.readInt16LE(offset));
  return precision <= 9 ? BigInt(data.readInt32LE(offset)) : data.readBigInt64LE(offset);
}

function uuidText(data: Buffer, offset: number): string {
  const stored = Uint8Array.from(data.subarray(offset, offset + 16));
  reorderUuid(stored, 0);
  return textFrom(writeUuid, new DataView(stored.buffer), 0);
}

function timeWithZoneText(packed: bigint): string {
  const { micros, offset } = unpackTimeWithZone(packed);
  const stored = new DataView(new ArrayBuffer(16));
  stored.setBigInt64(0, micros, true);
  stored.setInt32(8, offset, true);
  return textFrom(calendar.writeTimeWithZone, stored, 0);
}

function quoted(text: string): string {
  return `"${text}"`;
}
