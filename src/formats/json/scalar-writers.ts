import type { ColumnType } from "../../result/column.ts";
import { DATE_WIDTH, writeDate } from "../../result/text/calendar.ts";
import { enumText } from "../values/converted-text.ts";
import { fixedText } from "../values/fixed-text.ts";
import { floatText } from "../values/float-text.ts";
import type { Sink } from "../values/sink.ts";
import type { FixedWriter, Put, Writer } from "../values/writer.ts";
import { writeNull } from "./cell.ts";

const QUOTE = 0x22;

function quoted({ put, width, ...writer }: FixedWriter): FixedWriter {
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

/** As `quoted`, with one call per value less: dates are frequent. */
const putDate: Put = (out, at, data, offset) => {
  out.setUint8(at, QUOTE);
  const end = writeDate(out, at + 1, data.getInt32(offset, true));
  out.setUint8(end, QUOTE);
  return end + 1;
};

/** NaN and the infinities have no JSON number. */
const floats = floatText(writeNull);

type Of<Kind extends ColumnType["kind"]> = Extract<ColumnType, { kind: Kind }>;

export type ScalarType = Of<
  "boolean" | "integer" | "float" | "decimal" | "uuid" | "enum" | "date" | "time" | "timetz" | "timestamp" | "interval"
>;

export function scalarWriter(type: ScalarType, sink: Sink): Writer {
  switch (type.kind) {
    case "boolean":
    case "integer":
    case "decimal":
      return fixedText(type);
    case "float":
      return floats[type.bits];
    case "date":
      return { kind: "fixed", bytes: 4, width: DATE_WIDTH + 2, put: putDate };
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
    case "uuid":
      return quoted(fixedText(type));
    case "enum":
      return enumText(type, sink, (text) => JSON.stringify(text));
  }
}
