import type duckdb from "@duckdb/node-bindings";
import type { Column } from "../../../result/column.ts";
import { uniqueNames } from "../../../result/column-names.ts";
import { columnsOf } from "./load-vectors.ts";

/** The columns of a result, each with a name of its own. */
export function resultColumns(result: duckdb.Result): readonly Column[] {
  const columns = columnsOf(result);
  if (new Set(columns.map(({ name }) => name)).size === columns.length) return columns;
  const names = uniqueNames(columns);
  return columns.map((column, index) => {
    const name = names[index];
    return name === undefined || name === column.name ? column : { ...column, name };
  });
}
