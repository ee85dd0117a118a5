import type { EmbeddedEngine, TextRows } from "../engines/embedded-engine.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import { type Statement, statement } from "../sql/statement.ts";

/** Runs a statement in the open transaction. */
export type Run = (statement: Statement) => Promise<TextRows>;

/** Runs a transaction that no client waits for. `touches` names the tables that it changes. */
export function inTransaction<T>(
  engine: EmbeddedEngine,
  touches: readonly string[],
  work: (run: Run) => Promise<T>,
): Promise<T> {
  return engine.change({ connections: [], touches, signal: NEVER_STOPPED }, work);
}

/** Runs a transaction that only reads, and so invalidates no cached data. */
export function inReadTransaction<T>(
  engine: EmbeddedEngine,
  work: (run: Run) => Promise<T>,
  signal = NEVER_STOPPED,
): Promise<T> {
  return engine.change({ connections: [], touches: [], signal }, work);
}

export interface TableColumn {
  readonly name: string;
  /** As DuckDB writes it. */
  readonly type: string;
}

/** SQL that compares two strings byte by byte, whatever collation the user has set. */
export function equalStrings(one: string, other: string): string {
  return `encode(${one}) = encode(${other})`;
}

/** SQL for a value in comparisons: strings are compared byte by byte, whatever collation the user has set. */
export function comparable(sql: string, { type }: Pick<TableColumn, "type">): string {
  return isString(type) ? `encode(${sql})` : sql;
}

/** Undoes `comparable`. */
export function asColumn(sql: string, { type }: Pick<TableColumn, "type">): string {
  return isString(type) ? `CAST(decode(${sql}) AS ${type})` : sql;
}

/** DuckDB applies collations to no other types, not even to lists of strings. */
function isString(type: string): boolean {
  return type === "VARCHAR" || type === "JSON";
}

/** The columns of a table or, in parentheses, of a query. */
export async function columnsOf(run: Run, { sql, values }: Statement): Promise<readonly TableColumn[]> {
  const rows = await run({ sql: `SELECT column_name, column_type FROM (DESCRIBE ${sql})`, values });
  return rows.map(([name, type]) => ({ name: name ?? "", type: type ?? "" }));
}

/** Undefined if there is no such table. */
export async function columnsIfExists(run: Run, table: string): Promise<readonly TableColumn[] | undefined> {
  try {
    return await columnsOf(run, statement(table));
  } catch (error) {
    // A missing table does not end the transaction.
    if (databaseMessage(error)?.startsWith("Catalog Error")) return undefined;
    throw error;
  }
}

/** The database's message; undefined for other failures. */
export function databaseMessage(error: unknown): string | undefined {
  return error instanceof RequestFailure && error.failure.kind === "query-failed" ? error.failure.message : undefined;
}
