import type { MadeFunctions } from "../../../sql/made-functions.ts";
import { textValue } from "../../../sql/statement.ts";
import type { ConnectionDefinition, TextRows } from "../../engine.ts";
import type { Planner } from "../plan/plan.ts";
import { onlyComputes } from "./computing-functions.ts";
import { makesRowsFromArguments, roleByName } from "./function-roles.ts";

/** Keywords of an `init` after which the database may hold macros, views or functions that are not DuckDB's own. */
const BRINGS_FUNCTIONS = /\b(?:macro|function|view|attach|import|load|install|pragma|use)\b/i;

export interface MadeFunctionsOptions {
  readonly inspect: Planner["inspect"];
  /** A database in a file may hold macros. */
  readonly isFile: boolean;
  readonly definitions: readonly ConnectionDefinition[];
}

/** Finds macros and views, and functions that are in none of Eider's lists. */
export async function findMadeFunctions(
  called: ReadonlySet<string>,
  { inspect, isFile, definitions }: MadeFunctionsOptions,
): Promise<MadeFunctions> {
  // Listing all functions takes DuckDB longer than most startups.
  if (!isFile && !definitions.some(({ init }) => init !== undefined && BRINGS_FUNCTIONS.test(init))) {
    return { made: [], unknown: [] };
  }
  const unlisted = [...called].filter((name) => !isListed(name));
  const values = unlisted.map(textValue);
  const rows = await inspect({ sql: madeSql(values), values });
  return {
    made: rows.filter(isDefined).map(([name, body, parameters]) => ({
      name: name?.toLowerCase() ?? "",
      body: body ?? "",
      parameters: parameters?.toLowerCase().match(/[^[\],\s"]+/g) ?? [],
    })),
    unknown: rows.filter((row) => !isDefined(row)).map(([name]) => name?.toLowerCase() ?? ""),
  };
}

function isDefined([, body]: TextRows[number]): boolean {
  return body !== null && body !== undefined;
}

/** Whether a function (lower case) of DuckDB or of an extension is in one of Eider's lists. */
export function isListed(name: string): boolean {
  return onlyComputes(name) || makesRowsFromArguments(name) || roleByName(name) !== undefined;
}

/** Calls no function: a macro of the same name would take its place. */
function madeSql(called: readonly unknown[]): string {
  const placeholders = called.map((_, index) => `$${index + 1}`).join(", ");
  return `
    SELECT function_name, macro_definition, CAST(parameters AS VARCHAR)
    FROM duckdb_functions()
    WHERE (NOT internal AND macro_definition IS NOT NULL) ${placeholders && `OR function_name IN (${placeholders})`}
    UNION ALL
    SELECT view_name, sql, NULL FROM duckdb_views() WHERE NOT internal`;
}
