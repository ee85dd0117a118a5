import duckdb from "@duckdb/node-bindings";
import { isValid, textVector, type VectorOf, viewOf } from "../../../result/chunk.ts";

type BytesVector = VectorOf<"bytes">;

/** DuckDB's UUID is a little-endian 128-bit integer with the top bit flipped (so that it sorts). */
export function loadUuids(vector: duckdb.Vector, rows: number): Uint8Array {
  const stored = duckdb.vector_get_data(vector, rows * 16);
  for (let at = 0; at < stored.length; at += 16) reorderUuid(stored, at);
  return stored;
}

/** Converts 16 stored bytes to those of the text form, in place. */
export function reorderUuid(bytes: Uint8Array, at: number): void {
  bytes.subarray(at, at + 16).reverse();
  bytes[at] = (bytes[at] ?? 0) ^ 0x80;
}

/** The reverse of `reorderUuid`. */
export function storeUuid(bytes: Uint8Array, at: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ 0x80;
  bytes.subarray(at, at + 16).reverse();
}

const MAX_OFFSET_SECONDS = 16 * 3600 - 1;

/** DuckDB's TIMETZ packs 40 bits of microseconds above 24 bits of (maximum offset - offset). */
export function loadTimesWithZone(vector: duckdb.Vector, rows: number): Uint8Array {
  const packed = duckdb.vector_get_data(vector, rows * 8);
  const from = viewOf(packed);
  const data = new Uint8Array(rows * 16);
  const to = new DataView(data.buffer);
  for (let row = 0; row < rows; row++) {
    const { micros, offset } = unpackTimeWithZone(from.getBigUint64(row * 8, true));
    to.setBigInt64(row * 16, micros, true);
    to.setInt32(row * 16 + 8, offset, true);
  }
  return data;
}

export function unpackTimeWithZone(packed: bigint): { readonly micros: bigint; readonly offset: number } {
  return { micros: packed >> 24n, offset: MAX_OFFSET_SECONDS - Number(packed & 0xff_ffffn) };
}

export function packTimeWithZone(micros: bigint, offset: number): bigint {
  return (micros << 24n) | BigInt(MAX_OFFSET_SECONDS - offset);
}

/** BIT: the first byte counts the unused leading bits of the second. */
export function bitText(stored: Uint8Array): string {
  const unused = stored[0] ?? 0;
  const bits = Buffer.alloc(Math.max(0, stored.length - 1) * 8, "0");
  for (let bit = 0; bit < bits.length; bit++) {
    if (((stored[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0) bits[bit] = 0x31;
  }
  return bits.toString("latin1", unused);
}

/** BIGNUM: a header of 3 bytes whose top bit is the sign, then the magnitude, big-endian; a negative one is inverted. */
export function bignumText(stored: Uint8Array): string {
  const negative = ((stored[0] ?? 0) & 0x80) === 0;
  const magnitude = stored.slice(3);
  if (negative) for (let at = 0; at < magnitude.length; at++) magnitude[at] = ~(magnitude[at] ?? 0);
  const digits = BigInt(`0x${Buffer.from(magnitude).toString("hex") || "0"}`).toString();
  return negative && digits !== "0" ? `-${digits}` : digits;
}

export function loadBits(stored: BytesVector): BytesVector {
  return convertToText(stored, bitText);
}

export function loadBignums(stored: BytesVector): BytesVector {
  return convertToText(stored, bignumText);
}

function convertToText(stored: BytesVector, text: (bytes: Uint8Array) => string): BytesVector {
  const texts = Array.from(stored.starts, (start, row) =>
    isValid(stored.validity, row) ? text(stored.bytes.subarray(start, start + (stored.lengths[row] ?? 0))) : "",
  );
  return textVector(texts, stored.validity);
}
