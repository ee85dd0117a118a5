import type { Dialect } from "../sql/dialect.ts";
import type { Statement } from "../sql/statement.ts";
import { wholeTokens } from "../sql/whole-tokens.ts";

/** Clauses that follow the columns and cannot change them. */
const ROWS_ONLY = new Set(["WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT", "OFFSET"]);
/** Clauses that start another query, with its own columns. */
const ANOTHER_QUERY = new Set(["UNION", "INTERSECT", "EXCEPT", "SELECT", "FROM", "VALUES", "TABLE"]);

/**
 * Whether two renderings certainly have the same columns: single queries that differ only after a clause of `ROWS_ONLY`. Most
 * differ only in their filters, and preparing each one is expensive.
 */
export function haveSameColumns(left: readonly Statement[], right: readonly Statement[], dialect: Dialect): boolean {
  const [one, ...others] = left;
  const [other, ...more] = right;
  if (one === undefined || other === undefined || others.length + more.length > 0) return false;
  const end = endOfColumns(one.sql, dialect);
  if (end === undefined || end !== endOfColumns(other.sql, dialect)) return false;
  return one.sql.slice(0, end) === other.sql.slice(0, end);
}

/** The offset of the first clause after the columns. Undefined if unclear. */
function endOfColumns(sql: string, dialect: Dialect): number | undefined {
  let depth = 0;
  let hasTables = false;
  let end: number | undefined;
  let before = "";
  for (const { kind, text, start } of wholeTokens(sql, dialect)) {
    if (kind === "space") continue;
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
    // `t.offset` is a column.
    const word = kind === "word" && depth === 0 && before !== "." ? text.toUpperCase() : "";
    before = text;
    if (end !== undefined && ANOTHER_QUERY.has(word)) return undefined;
    if (hasTables && ROWS_ONLY.has(word)) end ??= start;
    hasTables ||= word === "FROM";
  }
  return end;
}
