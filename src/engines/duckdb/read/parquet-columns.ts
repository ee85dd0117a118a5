import type { Column, ColumnType } from "../../../result/column.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { clockText, durationText, timeWithZoneText } from "./parquet-texts.ts";

/** Parquet has no 128-bit integers. They become decimals, which every reader supports, or text if a value has 39 digits. */
export type WideInteger = "DECIMAL(38,0)" | "VARCHAR";

/** A query whose columns DuckDB's Parquet writer stores without loss, named as in every other format. */
export function parquetQuery(sql: string, columns: readonly Column[], wide: WideInteger): string {
  const selected = columns.map(({ name, type }, index) => {
    const value = `q.c${index}`;
    return `${convert(type, value, { wide, depth: 0 }) ?? value} AS ${quoteIdentifier(name || `column${index}`)}`;
  });
  return `SELECT ${selected.join(", ")} FROM (${sql}\n) q(${columns.map((_, index) => `c${index}`).join(", ")})`;
}

interface Conversion {
  readonly wide: WideInteger;
  /** How many lambdas enclose the value: the parameter of each needs its own name. */
  readonly depth: number;
}

/**
 * SQL that converts `value`, which is cheap to repeat, into what the writer stores without loss; undefined if not needed.
 * Without it, the writer turns 128-bit integers into doubles, cuts intervals to milliseconds and rejects negative
 * ones, drops the zone of a time, writes a union field without a name and rejects an infinite TIMESTAMP_S. For a NULL array of
 * fixed size, or a scale above the precision (`numeric(2,4)` of Postgres), it writes a file that only DuckDB can read.
 */
function convert(type: ColumnType, value: string, conversion: Conversion): string | undefined {
  switch (type.kind) {
    case "integer":
      return type.bits === 128 ? `CAST(${value} AS ${conversion.wide})` : undefined;
    case "decimal":
      return type.scale > type.precision ? `CAST(${value} AS DECIMAL(${type.scale},${type.scale}))` : undefined;
    case "interval":
      return durationText(value);
    case "timetz":
      return timeWithZoneText(value);
    case "time":
      return type.unit === "ns" ? clockText(value, 9) : undefined;
    case "timestamp":
      return type.unit === "s" ? `CAST(${value} AS TIMESTAMP)` : undefined;
    case "json":
      // Includes VARIANT, which few readers support. Without the CASE, a NULL VARIANT would become the JSON text `null`.
      return `CASE WHEN ${value} IS NOT NULL THEN CAST(${value} AS JSON) END`;
    case "list":
      return convertItems(type.item, value, conversion);
    case "array":
      return convertItems(type.item, value, conversion) ?? `list_transform(${value}, lambda x: x)`;
    case "struct":
      return convertFields(type.fields, value, conversion);
    case "map":
      return convertEntries(type, value, conversion);
    case "union":
      return convertMembers(type.members, value, conversion);
    case "null":
    case "boolean":
    case "float":
    case "bignum":
    case "text":
    case "blob":
    case "bit":
    case "geometry":
    case "uuid":
    case "enum":
    case "date":
      return undefined;
  }
}

function convertItems(item: ColumnType, list: string, { wide, depth }: Conversion): string | undefined {
  const parameter = `x${depth}`;
  const inner = convert(item, parameter, { wide, depth: depth + 1 });
  return inner === undefined ? undefined : `list_transform(${list}, lambda ${parameter}: ${inner})`;
}

function convertFields(fields: readonly Column[], struct: string, conversion: Conversion): string | undefined {
  const parts = fields.map(({ type }, index) => {
    const part = `struct_extract_at(${struct}, ${index + 1})`;
    return { part, inner: convert(type, part, conversion) };
  });
  // `row(1, 2)` has fields without names, which few readers support.
  const named = fields.every(({ name }) => name !== "");
  if (named && parts.every(({ inner }) => inner === undefined)) return undefined;
  const names = fields.map(({ name }, index) => (named ? name : `f${index + 1}`));
  return structPack(
    struct,
    names,
    parts.map(({ part, inner }) => inner ?? part),
  );
}

function convertEntries(
  { key, value }: Extract<ColumnType, { kind: "map" }>,
  map: string,
  conversion: Conversion,
): string | undefined {
  const entryFields = [
    { name: "key", type: key },
    { name: "value", type: value },
  ];
  const inner = convertItems({ kind: "struct", fields: entryFields }, `map_entries(${map})`, conversion);
  return inner === undefined ? undefined : `map_from_entries(${inner})`;
}

/** Parquet has no unions. A struct with one field per member, of which only one is set, keeps the members' types and names. */
function convertMembers(members: readonly Column[], union: string, conversion: Conversion): string {
  return structPack(
    union,
    members.map(({ name }) => name),
    members.map(({ name, type }) => {
      const member = `union_extract(${union}, ${quoteLiteral(name)})`;
      return convert(type, member, conversion) ?? member;
    }),
  );
}

function structPack(whole: string, names: readonly string[], values: readonly string[]): string {
  const parts = names.map((name, index) => `${quoteIdentifier(name)} := ${values[index]}`);
  return `CASE WHEN ${whole} IS NOT NULL THEN struct_pack(${parts.join(", ")}) END`;
}
