import { textValue } from "../../../sql/statement.ts";
import type { UserFunctions } from "../../../sql/user-functions.ts";
import type { ConnectionDefinition, TextRows } from "../../embedded-engine.ts";
import type { Planner } from "../plan/plan.ts";
import { onlyComputes } from "./computing-functions.ts";
import { makesRowsFromArguments, roleByName } from "./function-roles.ts";

/** Keywords of an `init` after which the database may hold macros, views or functions that are not DuckDB's own. */
const BRINGS_FUNCTIONS = /\b(?:macro|function|view|attach|import|load|install|pragma|use)\b/i;

export interface UserFunctionsOptions {
  readonly inspect: Planner["inspect"];
  /** A database in a file may hold macros. */
  readonly isFile: boolean;
  readonly definitions: readonly ConnectionDefinition[];
}

/** Finds macros and views, and functions that are in none of Eider's lists. */
export async function findUserFunctions(
  called: ReadonlySet<string>,
  { inspect, isFile, definitions }: UserFunctionsOptions,
): Promise<UserFunctions> {
  // Listing all functions takes DuckDB longer than most startups.
  if (!isFile && !definitions.some(({ init }) => init !== undefined && BRINGS_FUNCTIONS.test(init))) {
    return { defined: [], unknown: [] };
  }
  const unlisted = [...called].filter((name) => !isListed(name));
  const values = unlisted.map(textValue);
  const functions = await inspect({ sql: userFunctionsSql(values), values });
  const rows = [...functions, ...(await inspect({ sql: VIEWS, values: [] }))];
  return {
    defined: rows.filter(isDefined).map(([name, body, parameters]) => ({
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

/** Calls no scalar function: a macro of the same name would replace it. */
function userFunctionsSql(called: readonly unknown[]): string {
  const placeholders = called.map((_, index) => `$${index + 1}`).join(", ");
  return `
    SELECT function_name, macro_definition, CAST(parameters AS VARCHAR)
    FROM duckdb_functions()
    WHERE (NOT internal AND macro_definition IS NOT NULL) ${placeholders && `OR function_name IN (${placeholders})`}`;
}

const VIEWS = "SELECT view_name, sql, CAST(NULL AS VARCHAR) FROM duckdb_views() WHERE NOT internal";
