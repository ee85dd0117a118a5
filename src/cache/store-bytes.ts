import { quoteIdentifier } from "../sql/quote.ts";
import { statement } from "../sql/statement.ts";
import { columnsOf, type Run, type TableColumn } from "./store-sql.ts";

/** Bytes of one value, by the first word of its type. */
const WIDTHS: ReadonlyMap<string, number> = new Map([
  ...widths(1, "BOOLEAN TINYINT UTINYINT"),
  ...widths(2, "SMALLINT USMALLINT"),
  ...widths(4, "INTEGER UINTEGER FLOAT DATE ENUM"),
  ...widths(8, "BIGINT UBIGINT DOUBLE TIME TIME_NS TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS"),
  ...widths(16, "HUGEINT UHUGEINT DECIMAL UUID INTERVAL"),
]);

/** The overhead of a value of variable length. */
const REFERENCE_BYTES = 16;
/** The base size of a table and of each column, measured with one row in memory in DuckDB 1.5. */
const TABLE_BYTES = 16_384;
const COLUMN_BYTES = 26_624;

export interface TableSize {
  readonly rows: number;
  /** An estimate of the memory that it uses, too high rather than too low. */
  readonly bytes: number;
}

/** Counts the rows of a table and estimates its bytes, in one query. */
export async function measureTable(run: Run, table: string): Promise<TableSize> {
  const columns = await columnsOf(run, statement(table));
  const lengths = columns.flatMap(lengthOf).map((length) => `coalesce(sum(${length}), 0)`);
  const [[count, variableBytes] = []] = await run(
    statement(`SELECT count(*)::VARCHAR, (${["0", ...lengths].join(" + ")})::VARCHAR FROM ${table}`),
  );
  const width = columns.reduce((sum, column) => sum + (widthOf(column) ?? REFERENCE_BYTES), 0);
  const rows = Number(count);
  return { rows, bytes: TABLE_BYTES + columns.length * COLUMN_BYTES + rows * width + Number(variableBytes) };
}

/** Undefined for strings, blobs and nested values. */
function widthOf({ type }: TableColumn): number | undefined {
  return type.endsWith("]") ? undefined : WIDTHS.get(/^\w+/.exec(type)?.[0] ?? "");
}

/** SQL for the length of a value; none for types of fixed width. */
function lengthOf(column: TableColumn): readonly string[] {
  if (widthOf(column) !== undefined) return [];
  const name = quoteIdentifier(column.name);
  if (column.type === "BLOB") return [`octet_length(${name})`];
  return [column.type === "VARCHAR" ? `strlen(${name})` : `strlen(${name}::VARCHAR)`];
}

function widths(bytes: number, types: string): readonly (readonly [type: string, bytes: number])[] {
  return types.split(" ").map((type) => [type, bytes]);
}
