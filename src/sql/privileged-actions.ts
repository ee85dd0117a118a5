import type { Dialect } from "./dialect.ts";
import type { PrivilegedAction } from "./privileged-action.ts";
import { executedPart, tokensOf } from "./statement-words.ts";
import type { Token } from "./token.ts";

/** The privileged actions in a statement, as far as its tokens show. */
export function privilegedActions(sql: string, dialect: Dialect): readonly PrivilegedAction[] {
  return dialect.privilegedActions(executedPart(preparedPart(tokensOf(sql, dialect))));
}

/** The statement inside a PREPARE, otherwise the whole statement. */
function preparedPart(all: readonly Token[]): readonly Token[] {
  return all[0]?.text === "PREPARE" ? all.slice(all.findIndex(({ text }) => text === "AS") + 1) : all;
}

const SCOPES = new Set(["GLOBAL", "SESSION", "LOCAL"]);

/** Every setting that the SQL or template in `text` may set or reset, in lower case. */
export function settingsChangedBy(text: string, dialect: Dialect): readonly string[] {
  const all = tokensOf(text, dialect);
  const names = all.flatMap(({ text: word }, index) => {
    if (word !== "SET" && word !== "RESET" && word !== "PRAGMA") return [];
    // Only at the start of a statement or of a template section, so not in `UPDATE t SET x`.
    if (![undefined, ";", "}"].includes(all[index - 1]?.text)) return [];
    const at = SCOPES.has(all[index + 1]?.text ?? "") ? index + 2 : index + 1;
    const name = all[at];
    if (name?.kind !== "word" || name.text === "VARIABLE") return [];
    return name.text === "TIME" && all[at + 1]?.text === "ZONE" ? "timezone" : name.text.toLowerCase();
  });
  return [...new Set(names)];
}
