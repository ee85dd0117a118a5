import { inLayout, viewOf } from "../../result/chunk.ts";
import type { ColumnType } from "../../result/column.ts";
import { writeText } from "../../result/text/digits.ts";
import { wktOf } from "../../result/text/wkt.ts";
import { cleanJson } from "../json/clean-json.ts";
import { writerOf as jsonWriterOf } from "../json/writer-of.ts";
import { type Cell, cellOf } from "../values/cell.ts";
import { convertedTextWriter, enumTextWriter } from "../values/converted-text.ts";
import { fixedTextWriter } from "../values/fixed-text.ts";
import { floatWriters } from "../values/float-text.ts";
import type { Sink } from "../values/sink.ts";
import { unionWriter } from "../values/union-writer.ts";
import type { Writer } from "../values/writer.ts";
import { fieldOf, quoteInPlace, writeField } from "./field.ts";

/** Unlike JSON, CSV can contain NaN, Infinity and -Infinity. */
const floats = floatWriters((out, at, value) => writeText(out, at, String(value)));

/** The writer for a type. Apart from such floats, it writes the same text as JSON, without JSON's quotes. */
export function writerOf(type: ColumnType, sink: Sink): Writer {
  switch (type.kind) {
    case "null":
      return { kind: "fixed", width: 0, bytes: 1, put: (_, at) => at };
    case "boolean":
    case "integer":
    case "decimal":
    case "uuid":
    case "date":
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
      return fixedTextWriter(type);
    case "float":
      return floats[type.bits];
    case "enum":
      return enumTextWriter(type, sink, fieldOf);
    case "text":
    case "bit":
    case "bignum":
      return textWriter(sink);
    case "json":
      return convertedTextWriter(sink, (bytes) => fieldOf(cleanJson(bytes.toString())));
    case "blob":
      return convertedTextWriter(sink, (bytes) => fieldOf(bytes.toString("base64")));
    case "geometry":
      return convertedTextWriter(sink, (bytes) => fieldOf(wktOf(bytes)));
    case "list":
    case "array":
    case "struct":
    case "map":
      return jsonTextWriter(type, sink);
    case "union":
      return unionWriter(
        type.members.map((member) => cellOf(writerOf(member.type, sink))),
        sink,
        writeCell,
      );
  }
}

/** Writes the field of a row. Writes nothing for NULL. */
export function writeCell(sink: Sink, at: number, cell: Cell, row: number): number {
  const { validity, put } = cell;
  if (validity !== undefined && ((validity[row >> 3] ?? 0) & (1 << (row & 7))) === 0) return at;
  return put === undefined ? cell.write(row, at) : put(sink.view, at, cell.data, row * cell.bytes);
}

function textWriter(sink: Sink): Writer {
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
      return writeField(sink, at, bytes, starts[row] ?? 0, lengths[row] ?? 0);
    },
  };
}

/** Nested values are written as JSON. */
function jsonTextWriter(type: ColumnType, sink: Sink): Writer {
  const json = cellOf(jsonWriterOf(type, sink));
  return {
    kind: "bound",
    width: json.width,
    bind(vector) {
      json.bind(vector);
    },
    write(row, at) {
      return quoteInPlace(sink, at, json.write(row, at));
    },
  };
}
