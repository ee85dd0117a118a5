import duckdb from "@duckdb/node-bindings";
import type { Column, ColumnType, EnumValues } from "../../../result/column.ts";
import { withUniqueNames } from "../../../result/column-names.ts";

/** The columns of a result in SQL order, with unique names. It makes native calls, so call it once per result. */
export function resultColumns(result: duckdb.Result): readonly Column[] {
  const columns = Array.from({ length: duckdb.column_count(result) }, (_, index) => ({
    name: duckdb.column_name(result, index),
    // A logical type is a native object that most columns do not need: without it, the 8 columns of a lookup cost a third as much.
    type: plainTypes.get(duckdb.column_type(result, index)) ?? columnTypeOf(duckdb.column_logical_type(result, index)),
  }));
  return withUniqueNames(columns);
}

const { Type } = duckdb;

/** Types that are fully described by their id. */
const plainTypes: ReadonlyMap<duckdb.Type, ColumnType> = new Map<duckdb.Type, ColumnType>([
  [Type.SQLNULL, { kind: "null" }],
  [Type.BOOLEAN, { kind: "boolean" }],
  [Type.TINYINT, { kind: "integer", bits: 8, signed: true }],
  [Type.SMALLINT, { kind: "integer", bits: 16, signed: true }],
  [Type.INTEGER, { kind: "integer", bits: 32, signed: true }],
  [Type.BIGINT, { kind: "integer", bits: 64, signed: true }],
  [Type.HUGEINT, { kind: "integer", bits: 128, signed: true }],
  [Type.UTINYINT, { kind: "integer", bits: 8, signed: false }],
  [Type.USMALLINT, { kind: "integer", bits: 16, signed: false }],
  [Type.UINTEGER, { kind: "integer", bits: 32, signed: false }],
  [Type.UBIGINT, { kind: "integer", bits: 64, signed: false }],
  [Type.UHUGEINT, { kind: "integer", bits: 128, signed: false }],
  [Type.FLOAT, { kind: "float", bits: 32 }],
  [Type.DOUBLE, { kind: "float", bits: 64 }],
  [Type.BIGNUM, { kind: "bignum" }],
  [Type.VARIANT, { kind: "json" }],
  [Type.BLOB, { kind: "blob" }],
  [Type.BIT, { kind: "bit" }],
  [Type.GEOMETRY, { kind: "geometry" }],
  [Type.UUID, { kind: "uuid" }],
  [Type.DATE, { kind: "date" }],
  [Type.TIME, { kind: "time", unit: "us" }],
  [Type.TIME_NS, { kind: "time", unit: "ns" }],
  [Type.TIME_TZ, { kind: "timetz" }],
  [Type.TIMESTAMP_S, { kind: "timestamp", unit: "s", zoned: false }],
  [Type.TIMESTAMP_MS, { kind: "timestamp", unit: "ms", zoned: false }],
  [Type.TIMESTAMP, { kind: "timestamp", unit: "us", zoned: false }],
  [Type.TIMESTAMP_NS, { kind: "timestamp", unit: "ns", zoned: false }],
  [Type.TIMESTAMP_TZ, { kind: "timestamp", unit: "us", zoned: true }],
  [Type.INTERVAL, { kind: "interval" }],
]);

/** Converts DuckDB's type into a column type. Throws for an unknown type. */
export function columnTypeOf(type: duckdb.LogicalType): ColumnType {
  const id = duckdb.get_type_id(type);
  switch (id) {
    case Type.DECIMAL:
      return decimalType(type);
    case Type.VARCHAR:
      return duckdb.logical_type_get_alias(type) === "JSON" ? { kind: "json" } : { kind: "text" };
    case Type.ENUM:
      return { kind: "enum", bits: enumBits(type), values: enumValues(type) };
    case Type.LIST:
      return { kind: "list", item: columnTypeOf(duckdb.list_type_child_type(type)) };
    case Type.ARRAY:
      return {
        kind: "array",
        item: columnTypeOf(duckdb.array_type_child_type(type)),
        size: duckdb.array_type_array_size(type),
      };
    case Type.STRUCT:
      return { kind: "struct", fields: structFields(type) };
    case Type.MAP:
      return {
        kind: "map",
        key: columnTypeOf(duckdb.map_type_key_type(type)),
        value: columnTypeOf(duckdb.map_type_value_type(type)),
      };
    case Type.UNION:
      return { kind: "union", members: unionMembers(type) };
    default: {
      const plain = plainTypes.get(id);
      if (plain !== undefined) return plain;
      throw new Error(`DuckDB type ${Type[id] ?? id} cannot be returned; cast the column to another type`);
    }
  }
}

const MAX_SCALE = 38;

function decimalType(type: duckdb.LogicalType): ColumnType {
  const precision = duckdb.decimal_width(type);
  const scale = duckdb.decimal_scale(type);
  // Postgres allows `numeric(5,-2)`. Its extension passes the scale on, but DuckDB has no negative ones: it reads 254.
  if (scale > MAX_SCALE) {
    const name = `DECIMAL(${precision},${scale - 256})`;
    throw new Error(`${name} cannot be returned; cast the column in the database that it comes from`);
  }
  const bits = precision <= 4 ? 16 : precision <= 9 ? 32 : precision <= 18 ? 64 : 128;
  return { kind: "decimal", precision, scale, bits };
}

function enumBits(type: duckdb.LogicalType): 8 | 16 | 32 {
  switch (duckdb.enum_internal_type(type)) {
    case duckdb.Type.UTINYINT:
      return 8;
    case duckdb.Type.USMALLINT:
      return 16;
    default:
      return 32;
  }
}

/** Loads a value when it is first used: an enum may have 70,000 values and a page shows three of them. */
function enumValues(type: duckdb.LogicalType): EnumValues {
  const length = duckdb.enum_dictionary_size(type);
  const known: string[] = [];
  return {
    length,
    at(index) {
      if (index < 0 || index >= length) return undefined;
      known[index] ??= duckdb.enum_dictionary_value(type, index);
      return known[index];
    },
  };
}

function structFields(type: duckdb.LogicalType): readonly Column[] {
  return Array.from({ length: duckdb.struct_type_child_count(type) }, (_, index) => ({
    name: duckdb.struct_type_child_name(type, index),
    type: columnTypeOf(duckdb.struct_type_child_type(type, index)),
  }));
}

function unionMembers(type: duckdb.LogicalType): readonly Column[] {
  return Array.from({ length: duckdb.union_type_member_count(type) }, (_, index) => ({
    name: duckdb.union_type_member_name(type, index),
    type: columnTypeOf(duckdb.union_type_member_type(type, index)),
  }));
}
