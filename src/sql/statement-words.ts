import type { Dialect } from "./dialect.ts";
import { readQuoted } from "./sql-lexer.ts";
import type { Token } from "./token.ts";
import { wholeTokens } from "./whole-tokens.ts";

export function tokensOf(sql: string, dialect: Dialect): readonly Token[] {
  const tokens: Token[] = [];
  for (const { kind, text, start: at } of wholeTokens(sql, dialect)) {
    if (kind === "word") tokens.push({ kind, text: text.toUpperCase(), at });
    else if (kind === "symbol") tokens.push({ kind, text, at });
    else if (kind === "open-identifier") {
      tokens.push({ kind: "word", text: readQuoted(text, 1, '"').value.toUpperCase(), at });
    }
  }
  return tokens;
}

/** The tokens that are executed: for EXPLAIN ANALYZE what it explains, for a plain EXPLAIN none, otherwise all. */
export function executedPart(all: readonly Token[]): readonly Token[] {
  if (all[0]?.text !== "EXPLAIN") return all;
  const options = all[1]?.text === "(" ? all.findIndex(({ text }) => text === ")") : 1;
  const analyzes = all.slice(1, options + 1).some(({ text }) => text === "ANALYZE" || text === "ANALYSE");
  return analyzes ? executedPart(all.slice(options + 1)) : [];
}

/** The tokens outside parentheses. */
export function topLevelTokens(all: readonly Token[]): readonly Token[] {
  let depth = 0;
  return all.filter(({ text }) => {
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
    return depth === 0 && text !== ")";
  });
}

/** The words outside parentheses, upper case. */
export function topLevelWords(all: readonly Token[]): string[] {
  const words: string[] = [];
  let depth = 0;
  for (const { kind, text } of all) {
    // `(SELECT ...) UNION ...`: a statement that begins with a parenthesis is identified by its first word.
    if (kind === "word" && (depth === 0 || words.length === 0)) words.push(text);
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
  }
  return words;
}

/** Tokens that may precede a table function. */
const BEFORE_TABLE_FUNCTION = new Set(["FROM", "JOIN", "CALL", "LATERAL", ","]);

/** The names of table functions, and of functions in a CALL. `INSERT INTO t (x)` calls none. */
export function calledFunctions(all: readonly Token[]): readonly Token[] {
  return all.filter((token, index) => {
    if (token.kind !== "word" || all[index + 1]?.text !== "(") return false;
    let first = index;
    while (all[first - 1]?.text === ".") first -= 2;
    return BEFORE_TABLE_FUNCTION.has(all[first - 1]?.text ?? "");
  });
}

const CREATED_KINDS = new Set(["TABLE", "VIEW", "MACRO", "FUNCTION", "SEQUENCE", "TYPE", "SCHEMA"]);
const BEFORE_KIND = new Set(["OR", "REPLACE", "PERSISTENT", "RECURSIVE"]);
const BEFORE_CREATED_NAME = new Set(["IF", "NOT", "EXISTS"]);

/** The last parts of the names that statements create, in lower case. Temporary ones are left out. */
export function createdNames(sql: string, dialect: Dialect): readonly string[] {
  const tokens = tokensOf(sql, dialect);
  return tokens.flatMap(({ text }, index) => {
    if (text !== "CREATE") return [];
    let at = index + 1;
    while (BEFORE_KIND.has(tokens[at]?.text ?? "")) at++;
    if (!CREATED_KINDS.has(tokens[at++]?.text ?? "")) return [];
    while (BEFORE_CREATED_NAME.has(tokens[at]?.text ?? "")) at++;
    while (tokens[at + 1]?.text === ".") at += 2;
    const name = tokens[at];
    return name?.kind === "word" ? [name.text.toLowerCase()] : [];
  });
}
