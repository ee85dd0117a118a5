import { inLayout, isValid, type Vector, viewOf } from "../../result/chunk.ts";
import { TIMETZ_WIDTH, type ValueWriter, writeTimeWithZone } from "../../result/text/calendar.ts";
import { UUID_WIDTH, writeUuid } from "../../result/text/uuid.ts";
import { type Body, endBuffer } from "./body.ts";
import { validitySize, writeValidity } from "./validity.ts";
import type { FieldWriter, Span } from "./writer.ts";

/** Up to this length, a loop copies faster than a native call. */
const SHORT = 160;

/** Strings or bytes of any length: offsets, then the bytes without gaps. */
export const strings: FieldWriter = {
  buffers: 3,
  nodes: 1,
  measure(span) {
    const vector = inLayout(span.vector, "bytes");
    const own = validitySize(span) + (span.to - span.from) * 4;
    return own + (vector.packed === true ? packedSize(vector, span) : looseSize(vector, span));
  },
  write(body, spans, rows) {
    writeValidity(body, spans, rows);
    const { offsets, start } = openOffsets(body, rows);
    let row = 0;
    let end = start;
    for (const span of spans) {
      const vector = inLayout(span.vector, "bytes");
      const target = { offsets, start, row, end };
      end = vector.packed === true ? putPacked(body, vector, span, target) : putLoose(body, vector, span, target);
      row += span.to - span.from;
    }
    offsets[rows] = end - start;
    endBuffer(body, end - start);
  },
};

type BytesVector = Extract<Vector, { layout: "bytes" }>;

function packedSize({ starts, lengths }: BytesVector, { from, to }: Span): number {
  return (starts[to - 1] ?? 0) + (lengths[to - 1] ?? 0) - (starts[from] ?? 0);
}

function looseSize({ validity, lengths }: BytesVector, { from, to }: Span): number {
  let size = 0;
  // The length of a NULL is arbitrary.
  for (let row = from; row < to; row++) if (isValid(validity, row)) size += lengths[row] ?? 0;
  return size;
}

interface Offsets {
  readonly offsets: Int32Array;
  /** The offset of the first byte. */
  readonly start: number;
}

/** Ends the buffer of offsets before the offsets are written, because its end determines where the bytes start. */
function openOffsets(body: Body, rows: number): Offsets {
  const offsets = new Int32Array(body.bytes.buffer, body.at, rows + 1);
  endBuffer(body, offsets.byteLength);
  return { offsets, start: body.at };
}

interface StringTarget extends Offsets {
  /** The next row, and the offset of its bytes. */
  readonly row: number;
  readonly end: number;
}

/** Copies all bytes at once. Returns the end offset. */
function putPacked(
  body: Body,
  vector: BytesVector,
  span: Span,
  { offsets, start, row: first, end }: StringTarget,
): number {
  const { starts, bytes } = vector;
  const from = starts[span.from] ?? 0;
  const size = packedSize(vector, span);
  body.bytes.set(bytes.subarray(from, from + size), end);
  const shift = end - start - from;
  for (let row = span.from, at = first; row < span.to; row++, at++) offsets[at] = (starts[row] ?? 0) + shift;
  return end + size;
}

/** Copies each run of adjacent strings at once. Returns the end offset. */
function putLoose(body: Body, vector: BytesVector, span: Span, target: StringTarget): number {
  const { validity, starts, lengths, bytes } = vector;
  const { offsets, start, row: firstRow } = target;
  const source = viewOf(bytes);
  let { end } = target;
  let runStart = 0;
  let runEnd = 0;
  for (let row = span.from, at = firstRow; row < span.to; row++, at++) {
    offsets[at] = end + (runEnd - runStart) - start;
    const length = isValid(validity, row) ? (lengths[row] ?? 0) : 0;
    if (length === 0) continue;
    const from = starts[row] ?? 0;
    if (from !== runEnd) {
      copyRun(body.view, end, source, runStart, runEnd);
      end += runEnd - runStart;
      runStart = from;
    }
    runEnd = from + length;
  }
  copyRun(body.view, end, source, runStart, runEnd);
  return end + (runEnd - runStart);
}

/** Copies the bytes from `from` up to, but not including, `to`. */
function copyRun(target: DataView, at: number, source: DataView, from: number, to: number): void {
  // The last word may extend beyond the run, but not beyond the end of the source.
  if (to - from > SHORT || to + 4 > source.byteLength) {
    copyLongRun(target, at, source, from, to);
    return;
  }
  for (let position = from, end = at; position < to; position += 4, end += 4) {
    target.setUint32(end, source.getUint32(position, true), true);
  }
}

function copyLongRun(target: DataView, at: number, source: DataView, from: number, to: number): void {
  const bytes = new Uint8Array(source.buffer, source.byteOffset + from, to - from);
  new Uint8Array(target.buffer, target.byteOffset + at, to - from).set(bytes);
}

export const uuid: FieldWriter = textWriter(writeUuid, UUID_WIDTH);
export const timeWithZone: FieldWriter = textWriter(writeTimeWithZone, TIMETZ_WIDTH);

/** A writer for 16-byte values without an Arrow type, as text of at most `width` bytes. */
function textWriter(print: ValueWriter, width: number): FieldWriter {
  return {
    buffers: 3,
    nodes: 1,
    measure: (span) => validitySize(span) + (span.to - span.from) * (width + 4),
    write(body, spans, rows) {
      writeValidity(body, spans, rows);
      const { offsets, start } = openOffsets(body, rows);
      let at = 0;
      let end = start;
      for (const span of spans) {
        const { validity, data } = inLayout(span.vector, "fixed");
        const view = viewOf(data);
        for (let row = span.from; row < span.to; row++, at++) {
          offsets[at] = end - start;
          if (isValid(validity, row)) end = print(body.view, end, view, row * 16);
        }
      }
      offsets[rows] = end - start;
      endBuffer(body, end - start);
    },
  };
}
