import type { Column, ColumnType } from "../../../result/column.ts";
import { quoteIdentifier } from "../../../sql/quote.ts";

/** The types of a column that DuckDB stores: as it is appended, and as queries see it. */
export interface StoredType {
  readonly appended: string;
  readonly stored: string;
}

/** How DuckDB stores a column of another engine. Throws for a type that only DuckDB has. */
export function storedType(type: ColumnType): StoredType {
  const plain = (name: string): StoredType => ({ appended: name, stored: name });
  switch (type.kind) {
    case "null":
      return plain("INTEGER");
    case "boolean":
    case "uuid":
    case "date":
    case "interval":
    case "json":
    case "blob":
      return plain(type.kind.toUpperCase());
    case "text":
    case "enum":
      return plain("VARCHAR");
    case "integer":
      return plain(`${type.signed ? "" : "U"}${INTEGERS[type.bits]}`);
    case "float":
      return plain(type.bits === 32 ? "FLOAT" : "DOUBLE");
    case "decimal":
      return plain(`DECIMAL(${type.precision}, ${type.scale})`);
    // DuckDB has no number with any number of digits and a fraction.
    case "bignum":
      return { appended: "VARCHAR", stored: type.fractional === true ? "DOUBLE" : "BIGNUM" };
    case "bit":
      return { appended: "VARCHAR", stored: "BIT" };
    case "time":
      return plain(type.unit === "ns" ? "TIME_NS" : "TIME");
    case "timetz":
      return plain("TIMETZ");
    case "timestamp":
      return plain(
        type.zoned ? "TIMESTAMPTZ" : type.unit === "us" ? "TIMESTAMP" : `TIMESTAMP_${type.unit.toUpperCase()}`,
      );
    case "list": {
      const { appended, stored } = storedType(type.item);
      return { appended: `${appended}[]`, stored: `${stored}[]` };
    }
    case "geometry":
    case "array":
    case "struct":
    case "map":
    case "union":
      throw new Error(`a column of type ${type.kind} cannot be stored`);
  }
}

const INTEGERS = { 8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT", 128: "HUGEINT" };

/** The columns of an appended table, with their names and the types that queries see. */
export function storedColumns(columns: readonly Column[]): string {
  return columns
    .map(({ name, type }, index) => {
      const { appended, stored } = storedType(type);
      const value = appended === stored ? `c${index}` : `CAST(c${index} AS ${stored})`;
      return `${value} AS ${quoteIdentifier(name || `column${index}`)}`;
    })
    .join(", ");
}

/** A query without rows that has these columns. */
export function emptyQuery(columns: readonly Column[]): string {
  const nulls = columns.map(({ type }, index) => `CAST(NULL AS ${storedType(type).appended}) AS c${index}`);
  return `SELECT ${storedColumns(columns)} FROM (SELECT ${nulls.join(", ")}) WHERE false`;
}
