import type { Statement } from "../../sql/statement.ts";
import { tokensOf, topLevelWords } from "../../sql/statement-words.ts";
import type { StatementProblem } from "../engine.ts";
import { postgresDialect } from "./dialect.ts";

/** Why statements cannot run in the transaction of a write. */
export function transactionProblem(statements: readonly Statement[]): StatementProblem | undefined {
  for (const [statement, { sql }] of statements.entries()) {
    const words = topLevelWords(tokensOf(sql, postgresDialect));
    const [first = "", second = ""] = words;
    if (!runsOutside(first, second, words)) continue;
    const message = `${first} cannot run in a transaction; set operation.transaction to false`;
    return { kind: "names", message, statement, offset: undefined };
  }
  return undefined;
}

/** Statements that Postgres refuses inside a transaction. */
function runsOutside(first: string, second: string, words: readonly string[]): boolean {
  if (first === "VACUUM") return true;
  if (first === "ALTER" && second === "SYSTEM") return true;
  if ((first === "CREATE" || first === "DROP") && (second === "DATABASE" || second === "TABLESPACE")) return true;
  return words.includes("CONCURRENTLY") && (first === "CREATE" || first === "DROP" || first === "REINDEX");
}
