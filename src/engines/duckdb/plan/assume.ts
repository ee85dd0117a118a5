import duckdb from "@duckdb/node-bindings";
import type { Statement } from "../../../sql/statement.ts";
import type { AssumedColumn, AssumedTable, TextRows } from "../../embedded-engine.ts";
import type { AssumedTables } from "./assumed-tables.ts";
import { inspect } from "./inspect.ts";
import { rehearseAll } from "./rehearse.ts";

interface Assumption {
  readonly table: AssumedTable;
  readonly statements: readonly Statement[];
  readonly assumed: AssumedTables;
}

/** Implements `Engine.assumeTable`. Leaves the temporary tables of leading statements on the connection. */
export async function assume(
  native: duckdb.Connection,
  { table, statements, assumed }: Assumption,
): Promise<readonly AssumedColumn[] | undefined> {
  assumed.add(table);
  const rewritten = statements.map((each) => assumed.rewrite(each).statement);
  // The rewritten statements may create the table themselves. The original ones may read a table that exists already.
  for (const candidate of [rewritten, statements]) {
    await duckdb.query(native, "BEGIN");
    try {
      await assumed.drop(native, table);
      const columns = await columnsOfLast(native, candidate);
      const stored = columns && (await assumed.create(native, table, columns));
      await duckdb.query(native, "COMMIT");
      if (stored !== undefined) return stored;
    } catch {
      // For example, DuckDB cannot parse some types as it prints them.
      await duckdb.query(native, "ROLLBACK");
    }
  }
  return undefined;
}

/** The columns that the last statement would return. Undefined when they cannot be known. */
async function columnsOfLast(
  native: duckdb.Connection,
  statements: readonly Statement[],
): Promise<readonly AssumedColumn[] | undefined> {
  const last = statements.at(-1);
  if (last === undefined || !(await rehearseAll(native, statements.slice(0, -1)))) return undefined;
  const sql = `SELECT column_name, column_type FROM (DESCRIBE (${last.sql}\n))`;
  const rows = await inspect(native, { sql, values: last.values }).catch((): TextRows => []);
  return rows.length === 0 ? undefined : rows.map(([name, type]) => ({ name: name ?? "", type: type ?? "" }));
}
