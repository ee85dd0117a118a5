import { inLayout, viewOf } from "../../result/chunk.ts";
import type { ColumnType } from "../../result/column.ts";
import { type Literal, literal, paddedLength, writeLiteral } from "./literal.ts";
import { reserve, type Sink } from "./sink.ts";
import type { BoundWriter } from "./writer.ts";

/** A writer for rare types with layout `bytes`. `convert` returns the text of a value. */
export function convertedTextWriter(sink: Sink, convert: (bytes: Buffer) => string): BoundWriter {
  let bytes: Buffer = Buffer.alloc(0);
  let starts: Uint32Array = new Uint32Array(0);
  let lengths = starts;
  return {
    kind: "bound",
    width: 4,
    bind(vector) {
      const stored = inLayout(vector, "bytes");
      bytes = Buffer.from(stored.bytes.buffer, stored.bytes.byteOffset, stored.bytes.byteLength);
      starts = stored.starts;
      lengths = stored.lengths;
    },
    write(row, at) {
      const start = starts[row] ?? 0;
      const text = convert(bytes.subarray(start, start + (lengths[row] ?? 0)));
      // A UTF-16 unit takes at most three bytes of UTF-8.
      reserve(sink, at, text.length * 3);
      return at + sink.bytes.write(text, at);
    },
  };
}

/** A writer for an enum. Each value is converted when it first occurs. */
export function enumTextWriter(
  { bits, values }: Extract<ColumnType, { kind: "enum" }>,
  sink: Sink,
  convert: (text: string) => string,
): BoundWriter {
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
      const value = known[index] ?? literal(convert(values.at(index) ?? ""));
      known[index] = value;
      reserve(sink, at, paddedLength(value));
      return writeLiteral(sink.view, at, value);
    },
  };
}
