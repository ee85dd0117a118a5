import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { Statement } from "../../../sql/statement.ts";
import { definesAssumed } from "./assumed-tables.ts";
import { leavesShapesAlone } from "./describe.ts";
import { inspect } from "./inspect.ts";

const MAKES_TEMPORARY =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+(?:or\s+replace\s+)?(?:local\s+)?temp(?:orary)?\b/i;

/** Runs what later statements may need. False when it did not run. */
export async function rehearse(native: duckdb.Connection, statement: Statement): Promise<boolean> {
  const { sql } = statement;
  if (!MAKES_TEMPORARY.test(sql) && !definesAssumed(sql)) return false;
  // The text of a string is not known at load. NULL can be converted to any type.
  const values = statement.values.map((bound) => (bound.type === "VARCHAR" ? { ...bound, value: null } : bound));
  // Without the optimizer, DuckDB would compute all rows and then leave them out.
  await duckdb.query(native, "PRAGMA enable_optimizer");
  try {
    const empty = await failureOf(native, { sql: `${sql}\nWITH NO DATA`, values });
    // Views, macros and tables without a query do not support WITH NO DATA, and are cheap.
    if (empty === undefined || !empty.startsWith("Parser Error")) return empty === undefined;
    return (await failureOf(native, { sql, values })) === undefined;
  } finally {
    await duckdb.query(native, "PRAGMA disable_optimizer");
  }
}

/** The message of the error that a statement ends with. */
export function failureOf(native: duckdb.Connection, statement: Statement): Promise<string | undefined> {
  return inspect(native, statement).then(() => undefined, errorMessage);
}

const CREATES_SCHEMA = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+schema\b/i;

/** False when one of these statements, which did not run, may change the columns of a table. */
export async function rehearseAll(native: duckdb.Connection, statements: readonly Statement[]): Promise<boolean> {
  for (const statement of statements) {
    if (CREATES_SCHEMA.test(statement.sql) || (await rehearse(native, statement))) continue;
    if (!(await leavesShapesAlone(native, statement))) return false;
  }
  return true;
}
