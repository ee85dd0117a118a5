import { changedName } from "../../../sql/classify.ts";
import { tokensOf, topLevelTokens } from "../../../sql/statement-words.ts";
import type { StatementProblem } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import { changedDatabases, type Database } from "./databases.ts";

/** Statements without these words need no list of databases. */
export const MAY_BE_UNSUPPORTED = /\b(?:returning|conflict|merge|insert\s+or)\b/i;

const WITHOUT_RETURNING = new Map([
  ["postgres", "Postgres"],
  ["mysql", "MySQL"],
  ["sqlite", "SQLite"],
]);
const WITHOUT_MERGE = new Set(["mysql", "sqlite"]);

/**
 * A write that DuckDB supports in its own tables, but not in those of an attached database. DuckDB notices some of them only
 * when it knows the types of all parameters, that is, at execution.
 */
export function unsupportedWrite(sql: string, databases: readonly Database[]): StatementProblem | undefined {
  const [changed, ...others] = changedDatabases(sql, databases);
  const product = others.length === 0 ? WITHOUT_RETURNING.get(changed?.type ?? "") : undefined;
  if (changed === undefined || product === undefined) return undefined;
  const words = topLevelTokens(tokensOf(sql, duckdbDialect));
  const table = changedName(sql, duckdbDialect)?.join(".") ?? changed.name;
  const where = `in ${table}, a table of an attached ${product} database`;
  const merges = WITHOUT_MERGE.has(changed.type)
    ? words.find(
        ({ text }, index) =>
          text === "MERGE" ||
          (text === "ON" && words[index + 1]?.text === "CONFLICT") ||
          (text === "OR" && words[index - 1]?.text === "INSERT"),
      )
    : undefined;
  if (merges !== undefined) {
    const message = `MERGE, ON CONFLICT and INSERT OR do not work ${where}; write an UPDATE and an INSERT ... SELECT ... WHERE NOT EXISTS (...)`;
    return { kind: "syntax", message, statement: 0, offset: merges.at };
  }
  const returning = words.findLast(({ text }) => text === "RETURNING");
  if (returning === undefined) return undefined;
  const message = `RETURNING does not work ${where}; leave it out, and end the template with a query that returns the rows: SELECT ... FROM ${table} WHERE ...`;
  return { kind: "syntax", message, statement: 0, offset: returning.at };
}
