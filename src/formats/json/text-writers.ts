import type { ColumnType } from "../../result/column.ts";
import { wktOf } from "../../result/text/wkt.ts";
import { cleanJson } from "./clean-json.ts";
import { reserve, type Sink, viewOf } from "./sink.ts";
import { writeString } from "./string.ts";
import { inLayout, type Writer } from "./writer.ts";

export type TextType = Extract<ColumnType, { kind: "text" | "json" | "blob" | "bit" | "bignum" | "geometry" }>;

/** What has layout `bytes`. */
export function textWriter(type: TextType, sink: Sink): Writer {
  switch (type.kind) {
    case "text":
    case "bit":
      return stringWriter(sink);
    case "bignum":
      return convertedWriter(sink, (bytes) => bytes.toString("latin1"));
    case "json":
      return convertedWriter(sink, (bytes) => cleanJson(bytes.toString()));
    case "blob":
      return convertedWriter(sink, (bytes) => `"${bytes.toString("base64")}"`);
    case "geometry":
      return convertedWriter(sink, (bytes) => `"${wktOf(bytes)}"`);
  }
}

function stringWriter(sink: Sink): Writer {
  let bytes = sink.view;
  let starts: Uint32Array = new Uint32Array(0);
  let lengths = starts;
  return {
    kind: "bound",
    width: 4,
    bind(vector) {
      const text = inLayout(vector, "bytes");
      bytes = viewOf(text.bytes);
      starts = text.starts;
      lengths = text.lengths;
    },
    write(row, at) {
      return writeString(sink, at, bytes, starts[row] ?? 0, lengths[row] ?? 0);
    },
  };
}

/** `convert` gives the JSON text of a value. */
function convertedWriter(sink: Sink, convert: (bytes: Buffer) => string): Writer {
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
