import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Statement } from "../../../sql/statement.ts";
import { definesAssumed } from "./assumed-tables.ts";
import { keepsColumns } from "./describe.ts";
import { inspect } from "./inspect.ts";

export const CREATES_TEMPORARY =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+(?:or\s+replace\s+)?(?:local\s+)?temp(?:orary)?\b/i;

/**
 * Runs a statement if later ones may depend on the table or view that it creates, alters or drops. Returns whether it succeeded;
 * false if it did not run.
 */
export async function rehearse(native: duckdb.Connection, statement: Statement): Promise<boolean> {
  const { sql } = statement;
  if (!CREATES_TEMPORARY.test(sql) && !definesAssumed(sql)) return false;
  // While a project loads, values are samples. A sample string may not convert to the type of a cast; NULL always does.
  const values = statement.values.map((bound) => (bound.type === "VARCHAR" ? { ...bound, value: null } : bound));
  // Plans are made without the optimizer. But without it, DuckDB computes all rows in spite of WITH NO DATA, and then discards them.
  await duckdb.query(native, "PRAGMA enable_optimizer");
  try {
    const error = await runForError(native, { sql: `${sql}\nWITH NO DATA`, values });
    // Views, macros and tables without a query do not support WITH NO DATA, and are cheap.
    if (error === undefined || !error.startsWith("Parser Error")) return error === undefined;
    return (await runForError(native, { sql, values })) === undefined;
  } finally {
    await duckdb.query(native, "PRAGMA disable_optimizer");
  }
}

/** Runs a statement. Returns the error message if it fails. */
export function runForError(native: duckdb.Connection, statement: Statement): Promise<string | undefined> {
  return inspect(native, statement).then(() => undefined, errorMessage);
}

const CREATES_SCHEMA = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+schema\b/i;

/** Rehearses statements in order. Returns false if one was skipped, or failed, that may change the columns of a table. */
export async function rehearseAll(native: duckdb.Connection, statements: readonly Statement[]): Promise<boolean> {
  for (const statement of statements) {
    // A schema has no columns.
    if (CREATES_SCHEMA.test(statement.sql) || (await rehearse(native, statement))) continue;
    if (!(await keepsColumns(native, statement))) return false;
  }
  return true;
}
