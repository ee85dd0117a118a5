import type { Column, ColumnType } from "../../result/column.ts";
import { indexTypeOf } from "./field.ts";
import { boolean, copyingWriter, interval, widenedDecimals, widenedIndexWriter, widenedUhugeint } from "./fixed.ts";
import { array, list, nothing, struct, union } from "./nested.ts";
import { strings, timeWithZone, uuid } from "./strings.ts";
import type { FieldWriter } from "./writer.ts";

/** Type IDs are signed bytes. */
const MAX_MEMBERS = 128;

/** The writer for a type. Must match `describe` in field.ts. */
function writerOf(type: ColumnType): FieldWriter {
  switch (type.kind) {
    case "null":
      return nothing;
    case "boolean":
      return boolean;
    case "integer":
      return type.bits === 128 && !type.signed ? widenedUhugeint : copyingWriter(type.bits >> 3);
    case "float":
      return copyingWriter(type.bits >> 3);
    case "decimal":
      return type.bits === 128 ? copyingWriter(16) : widenedDecimals[type.bits];
    case "enum":
      return type.bits === 32 || indexTypeOf(type).bits === type.bits
        ? copyingWriter(type.bits >> 3)
        : widenedIndexWriter(type.bits);
    case "date":
      return copyingWriter(4);
    case "time":
    case "timestamp":
      return copyingWriter(8);
    case "interval":
      return interval;
    case "uuid":
      return uuid;
    case "timetz":
      return timeWithZone;
    case "text":
    case "json":
    case "blob":
    case "bit":
    case "bignum":
    case "geometry":
      return strings;
    case "list":
      return list(writerOf(type.item));
    case "map":
      return list(struct([writerOf(type.key), writerOf(type.value)]));
    case "array":
      return array(writerOf(type.item), type.size);
    case "struct":
      return struct(writersOf(type.fields));
    case "union":
      if (type.members.length > MAX_MEMBERS) throw new Error(`Arrow has no union of ${type.members.length} members.`);
      return union(writersOf(type.members));
  }
}

export function writersOf(columns: readonly Column[]): readonly FieldWriter[] {
  return columns.map((column) => writerOf(column.type));
}
