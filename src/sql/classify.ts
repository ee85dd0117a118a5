import type { Dialect } from "./dialect.ts";
import { calledFunctions, executedPart, tokensOf, topLevelTokens, topLevelWords } from "./statement-words.ts";
import type { Token } from "./token.ts";

const WITH_VERBS = new Set([
  "SELECT",
  "FROM",
  "VALUES",
  "TABLE",
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "PIVOT",
  "UNPIVOT",
]);

/** What a statement does, as far as its tokens show: `reads`, or the verb that changes something. */
export type StatementEffect = { readonly kind: "reads" } | { readonly kind: "changes"; readonly verb: string };

const READS: StatementEffect = { kind: "reads" };

/** For each statement of a template, whether it changes anything that is not temporary. */
export function effectsOf(statements: readonly string[], dialect: Dialect): StatementEffect[] {
  const temporary = new Set<string>();
  return statements.map((sql) => {
    const executed = executedPart(tokensOf(sql, dialect));
    const called = calledFunctions(executed).find(({ text }) => dialect.changesData(text));
    if (called !== undefined) return { kind: "changes", verb: called.text };
    const hidden = dialect.hiddenChanges ? hiddenChange(executed) : undefined;
    return hidden ?? effectOf(topLevelWords(executed), temporary, dialect);
  });
}

/** A statement that changes data inside another: `WITH x AS (DELETE ...) SELECT ...`, `SELECT ... INTO t`. */
function hiddenChange(executed: readonly Token[]): StatementEffect | undefined {
  const [first] = executed;
  if (first?.text === "WITH") {
    const inner = executed.find(({ text }, index) => ROW_VERBS.has(text) && executed[index - 1]?.text === "(");
    if (inner !== undefined) return { kind: "changes", verb: inner.text };
  }
  const words = topLevelWords(executed);
  const isQuery = words[0] === "SELECT" || words[0] === "WITH";
  const insert = words.indexOf("INSERT");
  const into = words.indexOf("INTO");
  return isQuery && into >= 0 && insert < 0 && !words.includes("MERGE") ? { kind: "changes", verb: "INTO" } : undefined;
}

/** The verb of a statement, from its words outside parentheses: after WITH, that of the statement that follows. */
export function verbOf(words: readonly string[]): string {
  const [first = ""] = words;
  return first === "WITH" ? (words.find((word) => WITH_VERBS.has(word)) ?? first) : first;
}

function effectOf(words: readonly string[], temporary: Set<string>, { changingVerbs }: Dialect): StatementEffect {
  const verb = verbOf(words);
  if ((verb === "SET" || verb === "RESET") && words[1] === "VARIABLE") return READS;
  if (verb === "CREATE") {
    const rest = words.slice(words[1] === "OR" ? 3 : 1);
    // A secret is shared by all connections, even a temporary one.
    if ((rest[0] === "TEMP" || rest[0] === "TEMPORARY") && rest[1] !== "SECRET") {
      const name = rest.slice(2).find((word) => !["IF", "NOT", "EXISTS"].includes(word));
      if (name !== undefined) temporary.add(name);
      return READS;
    }
  }
  if (changesTemporary(verb, words, temporary)) return READS;
  return changingVerbs.has(verb) ? { kind: "changes", verb } : READS;
}

/** What a statement changes, as far as its tokens show. */
export type ChangedTable =
  | { readonly kind: "nothing" }
  /** The last part of its name, in lower case. */
  | { readonly kind: "table"; readonly name: string }
  | { readonly kind: "unknown" };

const BEFORE_NAME = new Set(
  "INTO FROM OR REPLACE IGNORE TABLE ONLY VIEW SCHEMA SEQUENCE MACRO FUNCTION TYPE IF NOT EXISTS UNIQUE PERSISTENT RECURSIVE".split(
    " ",
  ),
);

/** The name of what a statement creates or changes, as lower-case parts. Undefined if its tokens do not show it. */
export function changedName(sql: string, dialect: Dialect): readonly string[] | undefined {
  const [effect] = effectsOf([sql], dialect);
  if (effect === undefined || effect.kind === "reads" || !NAMED_VERBS.has(effect.verb)) return undefined;
  if (effect.verb === "COPY" && !copiesIntoTable(sql, dialect)) return undefined;
  const outside = topLevelTokens(tokensOf(sql, dialect));
  let at = outside.findIndex(({ text }) => text === effect.verb) + 1;
  // An index is in the same schema as its table.
  const on = outside.findIndex(({ text }) => text === "ON");
  if (effect.verb === "CREATE" && on > 0 && outside.slice(at, on).some(({ text }) => text === "INDEX")) at = on + 1;
  while (BEFORE_NAME.has(outside[at]?.text ?? "")) at++;
  const path: string[] = [];
  for (let part = outside[at]; part?.kind === "word"; part = outside[at]) {
    path.push(part.text.toLowerCase());
    if (outside[at + 1]?.text !== ".") break;
    at += 2;
  }
  return path.length === 0 ? undefined : path;
}

const ROW_VERBS = new Set(["INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"]);
const NAMED_VERBS = new Set([...ROW_VERBS, "COPY", "CREATE", "DROP", "ALTER"]);

export function changedTable(sql: string, dialect: Dialect): ChangedTable {
  const [effect] = effectsOf([sql], dialect);
  if (effect === undefined || effect.kind === "reads") return { kind: "nothing" };
  const name = ROW_VERBS.has(effect.verb) ? changedName(sql, dialect)?.at(-1) : undefined;
  return name === undefined ? { kind: "unknown" } : { kind: "table", name };
}

/** `COPY t FROM ...` inserts rows; `COPY ... TO ...` writes a file, and `COPY FROM DATABASE ...` a database. */
export function copiesIntoTable(sql: string, dialect: Dialect): boolean {
  const words = topLevelWords(tokensOf(sql, dialect));
  const direction = words.find((word) => word === "FROM" || word === "TO");
  return words[0] === "COPY" && words[1] !== "FROM" && direction === "FROM";
}

/** With one of these words, the VALUES do not show how many rows an INSERT affects. */
const UNKNOWN_ROW_COUNT = new Set(["SELECT", "FROM", "TABLE", "ON", "RETURNING", "WITH"]);

/** How many rows a plain `INSERT INTO t VALUES (...), (...)` inserts when it succeeds. Undefined for any other statement. */
export function insertedRows(sql: string, dialect: Dialect): number | undefined {
  const tokens = tokensOf(sql, dialect);
  const words = topLevelWords(tokens);
  if (words[0] !== "INSERT" || words[1] !== "INTO" || words.some((word) => UNKNOWN_ROW_COUNT.has(word)))
    return undefined;
  let depth = 0;
  let rows: number | undefined;
  for (const { text } of tokens) {
    if (depth === 0 && text === "VALUES") rows = 0;
    if (depth === 0 && text === "(" && rows !== undefined) rows++;
    if (text === "(") depth++;
    if (text === ")") depth--;
  }
  return rows;
}

/** `INSERT INTO x`, `UPDATE x`, `DELETE FROM x`, `DROP TABLE x` on a temporary table that the template itself created. */
function changesTemporary(verb: string, words: readonly string[], temporary: ReadonlySet<string>): boolean {
  if (!["INSERT", "UPDATE", "DELETE", "DROP", "MERGE"].includes(verb)) return false;
  const name = words
    .slice(words.indexOf(verb) + 1)
    .find((word) => !["INTO", "FROM", "OR", "REPLACE", "IGNORE", "TABLE", "VIEW", "IF", "EXISTS"].includes(word));
  return name !== undefined && (temporary.has(name) || name === "TEMP");
}
