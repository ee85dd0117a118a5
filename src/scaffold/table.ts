import type { Column } from "../result/column.ts";
import { quoteIdentifier } from "../sql/quote.ts";

/** A table, a view or the rows of a file, for which endpoints can be written. */
export interface Table {
  /** For people. */
  readonly title: string;
  readonly connection: string;
  /** Its name in SQL. */
  readonly path: readonly string[];
  readonly columns: readonly Column[];
  readonly key: Key | undefined;
  /** Whether counting its rows means reading all of them, and there are many. */
  readonly isSlowToCount: boolean;
}

/** A column that identifies a row. */
export interface Key {
  readonly column: Column;
  /** False if only the first rows were looked at. */
  readonly isVerified: boolean;
}

export function nameInSql({ path }: Pick<Table, "path">): string {
  return path.map(quoteIdentifier).join(".");
}
