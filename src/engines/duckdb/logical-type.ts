import duckdb from "@duckdb/node-bindings";
import type { Column, ColumnType, EnumValues } from "../../result/column.ts";

/** The columns of a result, in SQL order and with the names that the query gave them. Native calls: once per statement. */
export function columnsOf(result: duckdb.Result): readonly Column[] {
  return Array.from({ length: duckdb.column_count(result) }, (_, index) => ({
    name: duckdb.column_name(result, index),
    type: columnTypeOf(duckdb.column_logical_type(result, index)),
  }));
}

/** DuckDB's type in neutral terms. A type that we do not know is an error, not a guess. */
function columnTypeOf(type: duckdb.LogicalType): ColumnType {
  const { Type } = duckdb;
  const id = duckdb.get_type_id(type);
  switch (id) {
    case Type.SQLNULL:
      return { kind: "null" };
    case Type.BOOLEAN:
      return { kind: "boolean" };
    case Type.TINYINT:
      return { kind: "integer", bits: 8, signed: true };
    case Type.SMALLINT:
      return { kind: "integer", bits: 16, signed: true };
    case Type.INTEGER:
      return { kind: "integer", bits: 32, signed: true };
    case Type.BIGINT:
      return { kind: "integer", bits: 64, signed: true };
    case Type.HUGEINT:
      return { kind: "integer", bits: 128, signed: true };
    case Type.UTINYINT:
      return { kind: "integer", bits: 8, signed: false };
    case Type.USMALLINT:
      return { kind: "integer", bits: 16, signed: false };
    case Type.UINTEGER:
      return { kind: "integer", bits: 32, signed: false };
    case Type.UBIGINT:
      return { kind: "integer", bits: 64, signed: false };
    case Type.UHUGEINT:
      return { kind: "integer", bits: 128, signed: false };
    case Type.FLOAT:
      return { kind: "float", bits: 32 };
    case Type.DOUBLE:
      return { kind: "float", bits: 64 };
    case Type.DECIMAL:
      return decimalType(type);
    case Type.BIGNUM:
      return { kind: "bignum" };
    case Type.VARCHAR:
      return duckdb.logical_type_get_alias(type) === "JSON" ? { kind: "json" } : { kind: "text" };
    case Type.VARIANT:
      return { kind: "json" };
    case Type.BLOB:
      return { kind: "blob" };
    case Type.BIT:
      return { kind: "bit" };
    case Type.GEOMETRY:
      return { kind: "geometry" };
    case Type.UUID:
      return { kind: "uuid" };
    case Type.ENUM:
      return { kind: "enum", bits: enumBits(type), values: enumValues(type) };
    case Type.DATE:
      return { kind: "date" };
    case Type.TIME:
      return { kind: "time", unit: "us" };
    case Type.TIME_NS:
      return { kind: "time", unit: "ns" };
    case Type.TIME_TZ:
      return { kind: "timetz" };
    case Type.TIMESTAMP_S:
      return { kind: "timestamp", unit: "s", zoned: false };
    case Type.TIMESTAMP_MS:
      return { kind: "timestamp", unit: "ms", zoned: false };
    case Type.TIMESTAMP:
      return { kind: "timestamp", unit: "us", zoned: false };
    case Type.TIMESTAMP_NS:
      return { kind: "timestamp", unit: "ns", zoned: false };
    case Type.TIMESTAMP_TZ:
      return { kind: "timestamp", unit: "us", zoned: true };
    case Type.INTERVAL:
      return { kind: "interval" };
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
    default:
      throw new Error(`DuckDB type ${Type[id] ?? id} cannot be returned; cast the column to another type`);
  }
}

function decimalType(type: duckdb.LogicalType): ColumnType {
  const precision = duckdb.decimal_width(type);
  const bits = precision <= 4 ? 16 : precision <= 9 ? 32 : precision <= 18 ? 64 : 128;
  return { kind: "decimal", precision, scale: duckdb.decimal_scale(type), bits };
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

/** Asks for a value when it is first needed: an enum may have 70,000 values and a page show three of them. */
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
