import type { ColumnType } from "../../result/column.ts";
import type { Sink } from "../values/sink.ts";
import type { Writer } from "../values/writer.ts";
import { writeNull } from "./cell.ts";
import { nestedWriter } from "./nested-writers.ts";
import { scalarWriter } from "./scalar-writers.ts";
import { textWriter } from "./text-writers.ts";

/** The writer for a type. Decisions 5. */
export function writerOf(type: ColumnType, sink: Sink): Writer {
  switch (type.kind) {
    case "null":
      return { kind: "fixed", width: 4, bytes: 1, put: writeNull };
    case "boolean":
    case "integer":
    case "float":
    case "decimal":
    case "uuid":
    case "enum":
    case "date":
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
      return scalarWriter(type, sink);
    case "text":
    case "json":
    case "blob":
    case "bit":
    case "bignum":
    case "geometry":
      return textWriter(type, sink);
    case "list":
    case "array":
    case "struct":
    case "map":
    case "union":
      return nestedWriter(type, sink);
  }
}
