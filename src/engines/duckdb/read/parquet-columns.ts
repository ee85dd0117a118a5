import type { Column, ColumnType } from "../../../result/column.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { clockText, durationText, timeWithZoneText } from "./parquet-texts.ts";

/** Parquet has no integer of 128 bits. A decimal is a number to every reader, and holds all but those of 39 digits. */
export type WideInteger = "DECIMAL(38,0)" | "VARCHAR";

/** A query whose columns DuckDB's Parquet writer keeps to the last digit, under the names that every format gives them. */
export function parquetQuery(sql: string, columns: readonly Column[], wide: WideInteger): string {
  const selected = columns.map(({ name, type }, index) => {
    const value = `q.c${index}`;
    return `${kept(type, value, { wide, depth: 0 }) ?? value} AS ${quoteIdentifier(name || `column${index}`)}`;
  });
  return `SELECT ${selected.join(", ")} FROM (${sql}\n) q(${columns.map((_, index) => `c${index}`).join(", ")})`;
}

interface Way {
  readonly wide: WideInteger;
  /** How many lambdas enclose it: the parameter of each needs its own name. */
  readonly depth: number;
}

/**
 * SQL that converts `value`, which is cheap to repeat, into what the writer keeps; undefined where it needs no conversion.
 * Without it, the writer turns integers of 128 bits into doubles, cuts intervals to milliseconds and rejects negative
 * ones, drops the zone of a time, gives a union a field without a name, rejects an infinite TIMESTAMP_S, and where an
 * array of fixed size is NULL it writes what only DuckDB can read.
 */
function kept(type: ColumnType, value: string, way: Way): string | undefined {
  switch (type.kind) {
    case "integer":
      return type.bits === 128 ? `CAST(${value} AS ${way.wide})` : undefined;
    case "interval":
      return durationText(value);
    case "timetz":
      return timeWithZoneText(value);
    case "time":
      return type.unit === "ns" ? clockText(value, 9) : undefined;
    case "timestamp":
      return type.unit === "s" ? `CAST(${value} AS TIMESTAMP)` : undefined;
    case "json":
      // VARIANT too, which few readers know. A NULL of that type would become the JSON text `null`.
      return `CASE WHEN ${value} IS NOT NULL THEN CAST(${value} AS JSON) END`;
    case "list":
      return keptItems(type.item, value, way);
    case "array":
      return keptItems(type.item, value, way) ?? `list_transform(${value}, lambda x: x)`;
    case "struct":
      return keptFields(type.fields, value, way);
    case "map":
      return keptEntries(type, value, way);
    case "union":
      return keptMembers(type.members, value, way);
    case "null":
    case "boolean":
    case "float":
    case "decimal":
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

function keptItems(item: ColumnType, list: string, { wide, depth }: Way): string | undefined {
  const parameter = `x${depth}`;
  const inner = kept(item, parameter, { wide, depth: depth + 1 });
  return inner === undefined ? undefined : `list_transform(${list}, lambda ${parameter}: ${inner})`;
}

function keptFields(fields: readonly Column[], struct: string, way: Way): string | undefined {
  const parts = fields.map(({ type }, index) => {
    const part = `struct_extract_at(${struct}, ${index + 1})`;
    return { part, inner: kept(type, part, way) };
  });
  // `row(1, 2)` has fields without names, which few readers support.
  const named = fields.every(({ name }) => name !== "");
  if (named && parts.every(({ inner }) => inner === undefined)) return undefined;
  const names = fields.map(({ name }, index) => (named ? name : `f${index + 1}`));
  return packed(
    struct,
    names,
    parts.map(({ part, inner }) => inner ?? part),
  );
}

function keptEntries({ key, value }: Extract<ColumnType, { kind: "map" }>, map: string, way: Way): string | undefined {
  const entry = [
    { name: "key", type: key },
    { name: "value", type: value },
  ];
  const inner = keptItems({ kind: "struct", fields: entry }, `map_entries(${map})`, way);
  return inner === undefined ? undefined : `map_from_entries(${inner})`;
}

/** Parquet has no unions. A field per member, of which one is set, keeps their types and names. */
function keptMembers(members: readonly Column[], union: string, way: Way): string {
  return packed(
    union,
    members.map(({ name }) => name),
    members.map(({ name, type }) => {
      const member = `union_extract(${union}, ${quoteLiteral(name)})`;
      return kept(type, member, way) ?? member;
    }),
  );
}

function packed(whole: string, names: readonly string[], values: readonly string[]): string {
  const parts = names.map((name, index) => `${quoteIdentifier(name)} := ${values[index]}`);
  return `CASE WHEN ${whole} IS NOT NULL THEN struct_pack(${parts.join(", ")}) END`;
}
