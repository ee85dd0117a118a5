import duckdb from "@duckdb/node-bindings";
import { type Chunk, isValid } from "../../../result/chunk.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { TextRows } from "../../embedded-engine.ts";
import { NOT_WATCHED } from "../../rows.ts";
import { NEVER_STOPPED } from "../../stop.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { bindValues } from "../session/bind-values.ts";

/**
 * Runs a statement and returns its rows. All its columns must be VARCHAR. No statement may read two lists of the catalog, such as
 * `duckdb_views()` and `duckdb_functions()`: DuckDB reads both at the same time, and its extension for MySQL crashes.
 */
export async function inspect(native: duckdb.Connection, { sql, values }: Statement): Promise<TextRows> {
  const statement = await duckdb.prepare(native, sql);
  try {
    bindValues(statement, values);
    const result = await duckdb.execute_prepared(statement);
    return await textRows(result);
  } finally {
    duckdb.destroy_prepare_sync(statement);
  }
}

/** All rows of a result whose columns are VARCHAR. Empty for a statement that returns no rows. */
export async function textRows(result: duckdb.Result): Promise<TextRows> {
  if (duckdb.result_return_type(result) !== duckdb.ResultType.QUERY_RESULT) return [];
  const rows = heldRows(result, {
    total: undefined,
    window: EVERYTHING,
    signal: NEVER_STOPPED,
    watch: NOT_WATCHED,
    maxValueBytes: Number.POSITIVE_INFINITY,
  });
  const all: (string | null)[][] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) all.push(...rowsIn(chunk));
  return all;
}

function rowsIn({ rows, vectors }: Chunk): (string | null)[][] {
  return Array.from({ length: rows }, (_, row) =>
    vectors.map((vector) => {
      if (vector.layout !== "bytes") throw new Error("Only text is inspected");
      if (!isValid(vector.validity, row)) return null;
      const start = vector.starts[row] ?? 0;
      return Buffer.from(vector.bytes.subarray(start, start + (vector.lengths[row] ?? 0))).toString();
    }),
  );
}
