import type { Column, ColumnType } from "../result/column.ts";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.ts";

type Integer = Extract<ColumnType, { kind: "integer" }>;
type Timestamp = Extract<ColumnType, { kind: "timestamp" }>;

const INTEGERS: Readonly<Record<Integer["bits"], string>> = {
  8: "TINYINT",
  16: "SMALLINT",
  32: "INTEGER",
  64: "BIGINT",
  128: "HUGEINT",
};

const TIMESTAMPS: Readonly<Record<Timestamp["unit"], string>> = {
  s: "TIMESTAMP_S",
  ms: "TIMESTAMP_MS",
  us: "TIMESTAMP",
  ns: "TIMESTAMP_NS",
};

/** Longer enums are shortened. */
const MAX_ENUM_VALUES = 10;

/** The SQL name of a type. */
export function sqlTypeName(type: ColumnType): string {
  switch (type.kind) {
    case "null":
      return "NULL";
    case "bignum":
      return type.fractional === true ? "NUMERIC" : "BIGNUM";
    case "boolean":
    case "json":
    case "blob":
    case "bit":
    case "geometry":
    case "uuid":
    case "date":
    case "interval":
      return type.kind.toUpperCase();
    case "text":
      return "VARCHAR";
    case "integer":
      return `${type.signed ? "" : "U"}${INTEGERS[type.bits]}`;
    case "float":
      return type.bits === 32 ? "FLOAT" : "DOUBLE";
    case "decimal":
      return `DECIMAL(${type.precision},${type.scale})`;
    case "enum":
      return enumName(type);
    case "time":
      return type.unit === "us" ? "TIME" : "TIME_NS";
    case "timetz":
      return "TIME WITH TIME ZONE";
    case "timestamp":
      return type.zoned ? "TIMESTAMP WITH TIME ZONE" : TIMESTAMPS[type.unit];
    case "list":
      return `${sqlTypeName(type.item)}[]`;
    case "array":
      return `${sqlTypeName(type.item)}[${type.size}]`;
    case "struct":
      return `STRUCT(${fieldNames(type.fields)})`;
    case "map":
      return `MAP(${sqlTypeName(type.key)}, ${sqlTypeName(type.value)})`;
    case "union":
      return `UNION(${fieldNames(type.members)})`;
  }
}

function enumName({ values }: Extract<ColumnType, { kind: "enum" }>): string {
  const shown = Array.from({ length: Math.min(values.length, MAX_ENUM_VALUES) }, (_, index) =>
    quoteLiteral(values.at(index) ?? ""),
  );
  return `ENUM(${[...shown, ...(values.length > shown.length ? ["..."] : [])].join(", ")})`;
}

function fieldNames(fields: readonly Column[]): string {
  return fields.map(({ name, type }) => `${nameOf(name)} ${sqlTypeName(type)}`).join(", ");
}

function nameOf(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : quoteIdentifier(name);
}
