import type { ColumnType } from "../../result/column.ts";
import { wktOf } from "../../result/text/wkt.ts";
import { convertedText } from "../values/converted-text.ts";
import { type Sink, viewOf } from "../values/sink.ts";
import { inLayout, type Writer } from "../values/writer.ts";
import { cleanJson } from "./clean-json.ts";
import { writeString } from "./string.ts";

export type TextType = Extract<ColumnType, { kind: "text" | "json" | "blob" | "bit" | "bignum" | "geometry" }>;

/** What has layout `bytes`. */
export function textWriter(type: TextType, sink: Sink): Writer {
  switch (type.kind) {
    case "text":
    case "bit":
      return stringWriter(sink);
    case "bignum":
      return convertedText(sink, (bytes) => bytes.toString("latin1"));
    case "json":
      return convertedText(sink, (bytes) => cleanJson(bytes.toString()));
    case "blob":
      return convertedText(sink, (bytes) => `"${bytes.toString("base64")}"`);
    case "geometry":
      return convertedText(sink, (bytes) => `"${wktOf(bytes)}"`);
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
