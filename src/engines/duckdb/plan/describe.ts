import duckdb from "@duckdb/node-bindings";
import type { Column, ColumnType } from "../../../result/column.ts";
import { withUniqueNames } from "../../../result/column-names.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { BoundValue, Statement } from "../../../sql/statement.ts";
import { wholeTokens } from "../../../sql/whole-tokens.ts";
import { duckdbDialect } from "../dialect.ts";
import { columnTypeOf } from "../load/logical-type.ts";
import { CHANGES_ROWS } from "../session/statement-kinds.ts";

const { StatementType } = duckdb;

/** Statements that return rows. Those in CHANGES_ROWS do so too, but only with RETURNING. */
const RETURNS_ROWS: ReadonlySet<duckdb.StatementType> = new Set([
  StatementType.SELECT,
  StatementType.EXPLAIN,
  StatementType.CALL,
  StatementType.PRAGMA,
]);

/** Whether a statement leaves the columns of all tables as they are. False if it cannot be prepared. */
export async function keepsColumns(native: duckdb.Connection, { sql }: Statement): Promise<boolean> {
  try {
    const prepared = await duckdb.prepare(native, sql);
    const type = duckdb.prepared_statement_type(prepared);
    duckdb.destroy_prepare_sync(prepared);
    return CHANGES_ROWS.has(type) || type === StatementType.SELECT || type === StatementType.EXPLAIN;
  } catch {
    return false;
  }
}

/** The columns that a statement would return; empty if it returns no rows. Undefined if preparing it does not show them. */
export async function describeStatement(
  native: duckdb.Connection,
  statement: Statement,
): Promise<readonly Column[] | undefined> {
  if (statement.values.length === 0) return columnsOfSql(native, statement.sql);
  // A column's type may depend on the type of a value. With constants instead of placeholders, DuckDB knows that type, but some
  // statements cannot be prepared with them.
  const known = await columnsOfSql(native, withConstants(statement));
  return known ?? (await columnsOfSql(native, statement.sql));
}

async function columnsOfSql(native: duckdb.Connection, sql: string): Promise<readonly Column[] | undefined> {
  try {
    const prepared = await duckdb.prepare(native, sql);
    try {
      return columnsOfPrepared(prepared, sql);
    } finally {
      duckdb.destroy_prepare_sync(prepared);
    }
  } catch {
    // Missing names, PIVOT, or a type that cannot be returned: planning reports what is wrong.
    return undefined;
  }
}

function columnsOfPrepared(prepared: duckdb.PreparedStatement, sql: string): readonly Column[] {
  const type = duckdb.prepared_statement_type(prepared);
  if (!RETURNS_ROWS.has(type) && !CHANGES_ROWS.has(type)) return [];
  const columns = Array.from({ length: duckdb.prepared_statement_column_count(prepared) }, (_, index) => ({
    name: duckdb.prepared_statement_column_name(prepared, index),
    type: columnTypeOf(duckdb.prepared_statement_column_logical_type(prepared, index)),
  }));
  // Without RETURNING, the only column is the number of rows, which is reported separately.
  if (CHANGES_ROWS.has(type) && !/\breturning\b/i.test(sql)) return [];
  return withUniqueNames(columns);
}

/** The types that a statement expects for its placeholders. None if it cannot be prepared: planning reports why. */
export async function parameterTypesOf(
  native: duckdb.Connection,
  sql: string,
): Promise<readonly (ColumnType | undefined)[]> {
  const prepared = await duckdb.prepare(native, sql).catch(() => undefined);
  if (prepared === undefined) return [];
  try {
    return Array.from({ length: duckdb.nparams(prepared) }, (_, index) =>
      duckdb.param_type(prepared, index + 1) === duckdb.Type.INVALID
        ? undefined
        : columnTypeOf(duckdb.param_logical_type(prepared, index + 1)),
    );
  } finally {
    duckdb.destroy_prepare_sync(prepared);
  }
}

/** The SQL with constants instead of placeholders. The values are samples, and the SQL is only prepared, never run. */
function withConstants({ sql, values }: Statement): string {
  let text = "";
  for (const token of wholeTokens(sql, duckdbDialect)) {
    const bound = token.kind === "placeholder" ? values[Number(token.text.slice(1)) - 1] : undefined;
    text += bound === undefined ? token.text : constantOf(bound);
  }
  return text;
}

/** A string stays an untyped literal, which DuckDB casts to any type, just like a bound string. */
function constantOf({ type, value }: BoundValue): string {
  if (value === null) return "NULL";
  const literal = quoteLiteral(String(value));
  return type === "VARCHAR" ? literal : `CAST(${literal} AS ${type})`;
}
