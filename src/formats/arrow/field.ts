import type { Column, ColumnType } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import { bool, byte, int, long, short, type Table, table, text, type Value } from "./flatbuffer.ts";

/** Arrow's numbers for types and units, from format/Schema.fbs. */
const TYPE = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  union: 14,
  fixedSizeList: 16,
  map: 17,
} as const;
const UNIT = { s: 0, ms: 1, us: 2, ns: 3 } as const;
const SINGLE = 1;
const DOUBLE = 2;
const DAY = 0;
const MONTH_DAY_NANO = 2;
const SPARSE = 0;
const NULLABLE = bool(true);

export type EnumType = Extract<ColumnType, { kind: "enum" }>;

/** Assigns a dictionary ID to an enum. Called once for every enum of a schema, in field order. */
export type AssignDictionaryId = (type: EnumType) => number;

/** The fields of a schema, one table each. */
export function fieldsOf(columns: readonly Column[], assignId: AssignDictionaryId): readonly Table[] {
  const names = uniqueNames(columns);
  return columns.map((column, index) => fieldOf(names[index] ?? column.name, column.type, assignId));
}

interface ArrowField {
  readonly type: number;
  readonly options: Table;
  readonly children?: readonly Table[];
  readonly extension?: string;
}

function fieldOf(name: string, type: ColumnType, assignId: AssignDictionaryId): Table {
  const { type: id, options, children = [], extension } = describe(type, assignId);
  const dictionary =
    type.kind === "enum" ? table(long(assignId(type)), table(...intOptions(indexTypeOf(type)))) : undefined;
  return [
    text(name),
    NULLABLE,
    byte(id),
    table(...options),
    dictionary,
    { kind: "tables", tables: children },
    extension === undefined ? undefined : { kind: "tables", tables: extensionOf(extension) },
  ];
}

function extensionOf(name: string): readonly Table[] {
  return [
    [text("ARROW:extension:name"), text(name)],
    [text("ARROW:extension:metadata"), text("{}")],
  ];
}

function describe(type: ColumnType, assignId: AssignDictionaryId): ArrowField {
  switch (type.kind) {
    case "null":
      return { type: TYPE.null, options: [] };
    case "boolean":
      return { type: TYPE.bool, options: [] };
    case "integer":
      if (type.bits < 128) return { type: TYPE.int, options: intOptions(type) };
      return type.signed ? decimal(38, 0, 128) : decimal(39, 0, 256);
    case "float":
      return { type: TYPE.float, options: [short(type.bits === 32 ? SINGLE : DOUBLE)] };
    case "decimal":
      // Postgres allows `numeric(2,4)`, which many readers of Arrow do not.
      return decimal(Math.max(type.precision, type.scale), type.scale, 128);
    case "text":
    case "bignum":
    case "bit":
    case "uuid":
    case "timetz":
    case "enum":
      return { type: TYPE.utf8, options: [] };
    case "json":
      return { type: TYPE.utf8, options: [], extension: "arrow.json" };
    case "blob":
      return { type: TYPE.binary, options: [] };
    case "geometry":
      return { type: TYPE.binary, options: [], extension: "geoarrow.wkb" };
    case "date":
      return { type: TYPE.date, options: [short(DAY)] };
    case "time":
      return { type: TYPE.time, options: [short(UNIT[type.unit]), int(64)] };
    case "timestamp":
      return { type: TYPE.timestamp, options: [short(UNIT[type.unit]), type.zoned ? text("UTC") : undefined] };
    case "interval":
      return { type: TYPE.interval, options: [short(MONTH_DAY_NANO)] };
    case "list":
      return { type: TYPE.list, options: [], children: [fieldOf("item", type.item, assignId)] };
    case "array":
      return {
        type: TYPE.fixedSizeList,
        options: [int(type.size)],
        children: [fieldOf("item", type.item, assignId)],
      };
    case "struct":
      return { type: TYPE.struct, options: [], children: fieldsOf(type.fields, assignId) };
    case "map":
      return { type: TYPE.map, options: [bool(false)], children: [entries(type, assignId)] };
    case "union":
      return {
        type: TYPE.union,
        options: [short(SPARSE), { kind: "ints", values: type.members.map((_, index) => index) }],
        children: fieldsOf(type.members, assignId),
      };
  }
}

function intOptions({ bits, signed }: { readonly bits: number; readonly signed: boolean }): Table {
  return [int(bits), bool(signed)];
}

function decimal(precision: number, scale: number, bits: number): ArrowField {
  return { type: TYPE.decimal, options: [int(precision), int(scale), int(bits)] };
}

/** A map is a list of entries: structs of a key, which is never NULL, and a value. */
function entries(type: Extract<ColumnType, { kind: "map" }>, assignId: AssignDictionaryId): Table {
  const key = asRequired(fieldOf("key", type.key, assignId));
  const children: Value = { kind: "tables", tables: [key, fieldOf("value", type.value, assignId)] };
  return asRequired([text("entries"), NULLABLE, byte(TYPE.struct), table(), undefined, children, undefined]);
}

function asRequired(field: Table): Table {
  return field.with(1, bool(false));
}

/**
 * The integer type of the indexes of an enum. Signed, as Arrow recommends, because some readers support only signed indexes.
 * As wide as in the vector, if that is sufficient.
 */
export function indexTypeOf({ bits, values }: EnumType): { readonly bits: 8 | 16 | 32; readonly signed: true } {
  const fits = values.length <= 2 ** (bits - 1);
  return { bits: fits || bits === 32 ? bits : bits === 16 ? 32 : 16, signed: true };
}
