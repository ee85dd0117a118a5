import { inLayout, isValid, type Validity, viewOf } from "../../result/chunk.ts";
import { type Body, endBuffer } from "./body.ts";
import { clearNulls, validitySize, writeValidity } from "./validity.ts";
import type { FieldWriter, Span } from "./writer.ts";

/** A writer for values that have the same bytes in a vector and in Arrow. */
export function copyingWriter(width: number): FieldWriter {
  return {
    buffers: 2,
    nodes: 1,
    measure: (span) => validitySize(span) + (span.to - span.from) * width,
    write(body, spans, rows) {
      const valid = writeValidity(body, spans, rows);
      let at = body.at;
      for (const span of spans) {
        const { data } = inLayout(span.vector, "fixed");
        const part = wholeOrPart(data, span.from * width, span.to * width);
        body.bytes.set(part, at);
        at += part.length;
      }
      if (valid !== undefined) clearNullsOfWidth(body, valid, rows, width);
      endBuffer(body, rows * width);
    },
  };
}

/** Avoids a `subarray` for a whole vector. */
function wholeOrPart(data: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === data.length ? data : data.subarray(from, to);
}

function clearNullsOfWidth({ bytes, at }: Body, valid: Uint8Array, rows: number, width: number): void {
  if (width === 1) clearNulls(valid, new Uint8Array(bytes.buffer, at, rows), 1);
  else if (width === 2) clearNulls(valid, new Uint16Array(bytes.buffer, at, rows), 1);
  else clearNulls(valid, new Int32Array(bytes.buffer, at, rows * (width >> 2)), width >> 2);
}

/** The rows of a vector from `from` up to, but not including, `to`. */
interface StoredValues {
  readonly data: Uint8Array;
  readonly validity: Validity;
  readonly from: number;
  readonly to: number;
}

/** Writes values as 32-bit words, starting at `at`. */
type Convert = (out: Int32Array, at: number, stored: StoredValues) => void;

/** A writer for values that need a conversion, and take `words` 32-bit words in Arrow. */
function convertingWriter(words: number, convert: Convert): FieldWriter {
  return {
    buffers: 2,
    nodes: 1,
    measure: (span) => validitySize(span) + (span.to - span.from) * words * 4,
    write(body, spans, rows) {
      const valid = writeValidity(body, spans, rows);
      const out = new Int32Array(body.bytes.buffer, body.at, rows * words);
      let at = 0;
      for (const span of spans) {
        const { data, validity } = inLayout(span.vector, "fixed");
        convert(out, at, { data, validity, from: span.from, to: span.to });
        at += (span.to - span.from) * words;
      }
      clearNulls(valid, out, words);
      endBuffer(body, out.byteLength);
    },
  };
}

/** Reads values of `bytes` bytes each as 32-bit words. */
function wordsOf({ data, from, to }: StoredValues, bytes: number): Int32Array {
  const part = data.subarray(from * bytes, to * bytes);
  const aligned = (part.byteOffset & 3) === 0 ? part : Uint8Array.from(part);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}

/** Decimals that are stored in 16 to 64 bits, and sign-extended to 128 bits in Arrow. */
export const widenedDecimals: Readonly<Record<16 | 32 | 64, FieldWriter>> = {
  16: convertingWriter(4, (out, start, { data, from, to }) => {
    const view = viewOf(data);
    for (let row = from, at = start; row < to; row++, at += 4) putExtended(out, at, view.getInt16(row * 2, true));
  }),
  32: convertingWriter(4, (out, start, stored) => {
    const words = wordsOf(stored, 4);
    for (let row = 0, at = start; row < words.length; row++, at += 4) putExtended(out, at, words[row] ?? 0);
  }),
  64: convertingWriter(4, (out, start, stored) => {
    const words = wordsOf(stored, 8);
    for (let word = 0, at = start; word < words.length; word += 2, at += 4) {
      const high = words[word + 1] ?? 0;
      out[at] = words[word] ?? 0;
      out[at + 1] = high;
      out[at + 2] = high >> 31;
      out[at + 3] = high >> 31;
    }
  }),
};

function putExtended(out: Int32Array, at: number, value: number): void {
  out[at] = value;
  out[at + 1] = value >> 31;
  out[at + 2] = value >> 31;
  out[at + 3] = value >> 31;
}

/** Unsigned 128-bit integers, which take 256 bits in Arrow. */
export const widenedUhugeint: FieldWriter = convertingWriter(8, (out, start, stored) => {
  const words = wordsOf(stored, 16);
  for (let word = 0, at = start; word < words.length; word += 4, at += 8) {
    for (let index = 0; index < 4; index++) out[at + index] = words[word + index] ?? 0;
    out.fill(0, at + 4, at + 8);
  }
});

/** A writer for enums whose indexes need a wider type, because they are unsigned in a vector and signed in Arrow. */
export function widenedIndexWriter(bits: 8 | 16): FieldWriter {
  const width = bits === 8 ? 2 : 4;
  return {
    buffers: 2,
    nodes: 1,
    measure: (span) => validitySize(span) + (span.to - span.from) * width,
    write(body, spans, rows) {
      const valid = writeValidity(body, spans, rows);
      const memory = body.bytes.buffer;
      const out = bits === 8 ? new Uint16Array(memory, body.at, rows) : new Int32Array(memory, body.at, rows);
      let at = 0;
      for (const span of spans) {
        const { data } = inLayout(span.vector, "fixed");
        const view = viewOf(data);
        for (let row = span.from; row < span.to; row++, at++) {
          out[at] = bits === 8 ? view.getUint8(row) : view.getUint16(row * 2, true);
        }
      }
      clearNulls(valid, out, 1);
      endBuffer(body, out.byteLength);
    },
  };
}

const DAY_MICROS = 86_400_000_000n;
/** The most microseconds that fit into 64 bits as nanoseconds. */
const MAX_MICROS = (2n ** 63n - 1n) / 1000n;
const MAX_DAYS = 2 ** 31 - 1;

/**
 * Months, days, and nanoseconds instead of microseconds. If the nanoseconds do not fit into 64 bits (more than about 292 years),
 * each full 24 hours becomes a day, which SQL considers equal.
 */
export const interval: FieldWriter = convertingWriter(4, (out, start, { data, validity, from, to }) => {
  const stored = viewOf(data);
  const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
  for (let row = from, at = start; row < to; row++, at += 4) {
    // A NULL may contain arbitrary bytes, such as an interval that is too long.
    if (!isValid(validity, row)) continue;
    const micros = stored.getBigInt64(row * 16 + 8, true);
    const wholeDays = micros > MAX_MICROS || micros < -MAX_MICROS ? micros / DAY_MICROS : 0n;
    const days = stored.getInt32(row * 16 + 4, true) + Number(wholeDays);
    if (Math.abs(days) > MAX_DAYS) throw new Error("An interval is too long for Arrow.");
    out[at] = stored.getInt32(row * 16, true);
    out[at + 1] = days;
    view.setBigInt64((at + 2) * 4, (micros - wholeDays * DAY_MICROS) * 1000n, true);
  }
});

/** One byte per value in a vector, one bit in Arrow. */
export const boolean: FieldWriter = {
  buffers: 2,
  nodes: 1,
  measure: (span) => validitySize(span) * 2,
  write(body, spans, rows) {
    const valid = writeValidity(body, spans, rows);
    const out = new Uint8Array(body.bytes.buffer, body.at, (rows + 7) >> 3);
    let at = 0;
    for (const span of spans) {
      packBits(out, at, span);
      at += span.to - span.from;
    }
    if (valid !== undefined)
      for (let index = 0; index < out.length; index++) out[index] = (out[index] ?? 0) & (valid[index] ?? 0);
    endBuffer(body, out.length);
  },
};

function packBits(out: Uint8Array, start: number, span: Span): void {
  const { data } = inLayout(span.vector, "fixed");
  const { from, to } = span;
  let at = start;
  let row = from;
  if ((start & 7) === 0) {
    const view = viewOf(data);
    for (; row + 8 <= to; row += 8, at += 8) {
      out[at >> 3] = fourBits(view.getUint32(row, true)) | (fourBits(view.getUint32(row + 4, true)) << 4);
    }
  }
  for (; row < to; row++, at++) {
    const before = (at & 7) === 0 ? 0 : (out[at >> 3] ?? 0);
    out[at >> 3] = before | (((data[row] ?? 0) & 1) << (at & 7));
  }
}

/** The lowest bit of each of four bytes, side by side. */
function fourBits(bytes: number): number {
  const bits = bytes & 0x0101_0101;
  return (bits | (bits >>> 7) | (bits >>> 14) | (bits >>> 21)) & 0xf;
}
