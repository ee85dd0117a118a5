import { inLayout, viewOf } from "../../result/chunk.ts";
import type { ColumnType } from "../../result/column.ts";
import { DATE_WIDTH, writeDate } from "../../result/text/calendar.ts";
import { writeText } from "../../result/text/digits.ts";
import { wktOf } from "../../result/text/wkt.ts";
import { type Cell, cellOf } from "../values/cell.ts";
import { convertedTextWriter, enumTextWriter } from "../values/converted-text.ts";
import { fixedTextWriter } from "../values/fixed-text.ts";
import { floatWriters } from "../values/float-text.ts";
import type { Sink } from "../values/sink.ts";
import { unionWriter } from "../values/union-writer.ts";
import type { FixedWriter, Put, Writer } from "../values/writer.ts";
import { writeCell, writeNull } from "./cell.ts";
import { cleanJson } from "./clean-json.ts";
import { arrayWriter, listWriter, mapWriter, structWriter } from "./nested-writers.ts";
import { writeString } from "./string.ts";

const QUOTE = 0x22;

/** JSON has no NaN or infinities. They become null, or strings if they are keys of a map. */
const floats = floatWriters(writeNull);
const floatKeys = floatWriters((out, at, value) => writeText(out, at, `"${value}"`));

/** The writer for the values of a type. */
export function writerOf(type: ColumnType, sink: Sink): Writer {
  const cell = (inner: ColumnType): Cell => cellOf(writerOf(inner, sink));
  switch (type.kind) {
    case "null":
      return { kind: "fixed", width: 4, bytes: 1, put: writeNull };
    case "boolean":
    case "integer":
    case "decimal":
      return fixedTextWriter(type);
    case "float":
      return floats[type.bits];
    case "date":
      return { kind: "fixed", bytes: 4, width: DATE_WIDTH + 2, put: putDate };
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
    case "uuid":
      return withQuotes(fixedTextWriter(type));
    case "enum":
      return enumTextWriter(type, sink, (text) => JSON.stringify(text));
    case "text":
    case "bit":
      return stringWriter(sink);
    case "bignum":
      return convertedTextWriter(sink, (bytes) => digitsOrNull(bytes.toString("latin1")));
    case "json":
      return convertedTextWriter(sink, (bytes) => cleanJson(bytes.toString()));
    case "blob":
      return convertedTextWriter(sink, (bytes) => `"${bytes.toString("base64")}"`);
    case "geometry":
      return convertedTextWriter(sink, (bytes) => `"${wktOf(bytes)}"`);
    case "list":
      return listWriter(cell(type.item), sink);
    case "array":
      return arrayWriter(cell(type.item), type.size, sink);
    case "struct":
      return structWriter(
        type.fields.map((field) => ({ name: field.name, cell: cell(field.type) })),
        sink,
      );
    case "map":
      return mapWriter(
        type.key.kind === "float" ? cellOf(floatKeys[type.key.bits]) : cell(type.key),
        cell(type.value),
        sink,
      );
    case "union":
      return unionWriter(
        type.members.map((member) => cell(member.type)),
        sink,
        writeCell,
      );
  }
}

/** JSON has no NaN or infinities. */
function digitsOrNull(text: string): string {
  return /[yN]/.test(text) ? "null" : text;
}

function withQuotes({ put, width, ...writer }: FixedWriter): FixedWriter {
  return {
    ...writer,
    width: width + 2,
    put(out, at, data, offset) {
      out.setUint8(at, QUOTE);
      const end = put(out, at + 1, data, offset);
      out.setUint8(end, QUOTE);
      return end + 1;
    },
  };
}

/** Like `withQuotes`, but with one call fewer per value, because dates are frequent. */
const putDate: Put = (out, at, data, offset) => {
  out.setUint8(at, QUOTE);
  const end = writeDate(out, at + 1, data.getInt32(offset, true));
  out.setUint8(end, QUOTE);
  return end + 1;
};

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
