import { quoteIdentifier } from "../sql/quote.ts";
import { comparable } from "./store-sql.ts";

/** The type in which cursor values are compared. */
export type CursorType =
  | "timestamp"
  | "timestamptz"
  | "date"
  | "time"
  | "integer"
  | "decimal"
  | "double"
  | "varchar"
  | "uuid";

/**
 * The column whose largest cached value tells an incremental refresh which rows are new. Without a type, its values are compared
 * in the column's own type.
 */
export interface Cursor {
  readonly cursor: string;
  readonly cursorType?: CursorType | undefined;
}

/** Values of the same kind can be compared without a conversion. */
type Kind = "moment" | "time" | "number" | "text" | "uuid" | "other";

interface TypeRule {
  readonly kind: Kind;
  /** A DuckDB type that is wide enough for all values. */
  readonly sql: string;
  /** Other names that a configuration may use. */
  readonly aliases: readonly string[];
}

const TYPES: Readonly<Record<CursorType, TypeRule>> = {
  timestamp: { kind: "moment", sql: "TIMESTAMP", aliases: ["datetime", "timestamp_s", "timestamp_ms", "timestamp_ns"] },
  timestamptz: { kind: "moment", sql: "TIMESTAMPTZ", aliases: ["timestamp with time zone"] },
  date: { kind: "moment", sql: "DATE", aliases: [] },
  time: { kind: "time", sql: "TIME", aliases: [] },
  integer: {
    kind: "number",
    sql: "HUGEINT",
    aliases: [
      "int",
      "bigint",
      "smallint",
      "tinyint",
      "hugeint",
      "long",
      "uinteger",
      "ubigint",
      "usmallint",
      "utinyint",
    ],
  },
  decimal: { kind: "number", sql: "DECIMAL(38, 10)", aliases: ["numeric"] },
  double: { kind: "number", sql: "DOUBLE", aliases: ["float", "real", "number"] },
  varchar: { kind: "text", sql: "VARCHAR", aliases: ["string", "text"] },
  uuid: { kind: "uuid", sql: "UUID", aliases: [] },
};

// The keys of the object above.
export const CURSOR_TYPES = Object.keys(TYPES) as readonly CursorType[];

export function otherNamesOf(type: CursorType): readonly string[] {
  return TYPES[type].aliases;
}

/** The type with this name or alias, ignoring upper case and precision: `BIGINT`, `decimal(18,2)`. */
export function cursorTypeOf(name: string): CursorType | undefined {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/\s*\([\d\s,]*\)$/, "")
    .replace(/\s+/g, " ");
  return CURSOR_TYPES.find((type) => type === plain || TYPES[type].aliases.includes(plain));
}

/** SQL for a cursor in comparisons. `columnType` is the type of its column, as DuckDB writes it. */
export function comparedCursor(cursor: Cursor, columnType: string): string {
  const column = quoteIdentifier(cursor.cursor);
  const type = comparedType(cursor, columnType);
  return comparable(type === columnType ? column : `TRY_CAST(${column} AS ${type})`, { type });
}

/** The type that a cursor is compared as. */
function comparedType({ cursorType }: Cursor, columnType: string): string {
  return cursorType === undefined || TYPES[cursorType].kind === kindOf(columnType) ? columnType : TYPES[cursorType].sql;
}

/** Whether values of a column can be compared as the type of the cursor. */
export function canCompare({ cursorType }: Cursor, columnType: string): boolean {
  if (cursorType === undefined) return true;
  const kind = kindOf(columnType);
  return kind === "text" || TYPES[cursorType].kind === "text" || TYPES[cursorType].kind === kind;
}

/** Like `comparedCursor`, but NULL if it is infinite or not a number: no later value would be larger. */
export function finiteCursor(cursor: Cursor, columnType: string): string {
  const compared = comparedCursor(cursor, columnType);
  const type = comparedType(cursor, columnType);
  return /^(?:DATE|TIMESTAMP|FLOAT|DOUBLE)/.test(type)
    ? `CASE WHEN isfinite(${compared}) THEN ${compared} END`
    : compared;
}

function kindOf(columnType: string): Kind {
  if (columnType.startsWith("ENUM(")) return "text";
  if (/[[(]/.test(columnType) && !columnType.startsWith("DECIMAL(")) return "other";
  if (/^(?:DATE|TIMESTAMP)/.test(columnType)) return "moment";
  if (/^TIME/.test(columnType)) return "time";
  if (/^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL|FLOAT|DOUBLE|BIGNUM)/.test(columnType))
    return "number";
  if (columnType === "UUID") return "uuid";
  return columnType === "VARCHAR" || columnType === "JSON" ? "text" : "other";
}
