import type { Dialect } from "./dialect.ts";
import { BARE, type Mode, readBareToken, readComment, readQuoted, readString } from "./sql-lexer.ts";

/** A word (upper case, a quoted name too) or a symbol of a statement. Literals and comments have none. */
export interface Token {
  readonly kind: "word" | "symbol";
  readonly text: string;
  readonly at: number;
}

export function tokensOf(sql: string, dialect: Dialect): readonly Token[] {
  return [...tokens(sql, dialect)];
}

function* tokens(sql: string, dialect: Dialect): Generator<Token> {
  let mode: Mode = BARE;
  let at = 0;
  while (at < sql.length) {
    if (mode.kind === "line-comment" || mode.kind === "block-comment") {
      const rest: { mode: Mode; end: number } = readComment(sql, at, mode, dialect);
      mode = rest.mode;
      at = rest.end;
      continue;
    }
    const token = readBareToken(sql, at, dialect);
    const end = at + token.length;
    if (token.kind === "open-string") {
      at = readString(sql, end, token.style).end ?? sql.length;
    } else if (token.kind === "open-identifier") {
      const name = readQuoted(sql, end, '"');
      yield { kind: "word", text: name.value.toUpperCase(), at };
      at = name.end ?? sql.length;
    } else {
      if (token.kind === "open-line-comment") mode = { kind: "line-comment" };
      if (token.kind === "open-block-comment") mode = { kind: "block-comment", depth: 1 };
      if (token.kind === "word") yield { kind: "word", text: sql.slice(at, end).toUpperCase(), at };
      if (token.kind === "symbol") yield { kind: "symbol", text: sql.slice(at, end), at };
      at = end;
    }
  }
}

/** What of a statement runs: all of it, what EXPLAIN ANALYZE explains, nothing of a plain EXPLAIN. */
export function runningPart(all: readonly Token[]): readonly Token[] {
  if (all[0]?.text !== "EXPLAIN") return all;
  const options = all[1]?.text === "(" ? all.findIndex(({ text }) => text === ")") : 1;
  const analyzes = all.slice(1, options + 1).some(({ text }) => text === "ANALYZE" || text === "ANALYSE");
  return analyzes ? runningPart(all.slice(options + 1)) : [];
}

/** Those outside parentheses. */
export function topLevel(all: readonly Token[]): readonly Token[] {
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
    // `(SELECT ...) UNION ...`: a statement that begins with a parenthesis is known by the first word inside.
    if (kind === "word" && (depth === 0 || words.length === 0)) words.push(text);
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
  }
  return words;
}

/** What may stand before the call of a table function. */
const BEFORE_A_TABLE = new Set(["FROM", "JOIN", "CALL", "LATERAL", ","]);

/** Names before a `(` where rows are read from a function, or one is called. `INSERT INTO t (x)` calls nothing. */
export function calledFunctions(all: readonly Token[]): readonly Token[] {
  return all.filter((token, index) => {
    if (token.kind !== "word" || all[index + 1]?.text !== "(") return false;
    let first = index;
    while (all[first - 1]?.text === ".") first -= 2;
    return BEFORE_A_TABLE.has(all[first - 1]?.text ?? "");
  });
}
