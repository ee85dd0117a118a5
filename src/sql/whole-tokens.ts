import type { Dialect } from "./dialect.ts";
import { type BareToken, readBareToken, readComment, readQuoted, readString } from "./sql-lexer.ts";

/** A token with its full text, for example a string literal with both quotes. */
export interface WholeToken {
  /** For a string, quoted name or comment, how it opens: `open-string`. */
  readonly kind: BareToken["kind"];
  readonly start: number;
  readonly text: string;
}

/** The tokens of SQL that contains no template tags. A string, quoted name or comment is one token. */
export function* wholeTokens(sql: string, dialect: Dialect): Generator<WholeToken> {
  for (let start = 0, end = 0; start < sql.length; start = end) {
    const token = readBareToken(sql, start, dialect);
    end = tokenEnd(token, sql, start + token.length, dialect);
    yield { kind: token.kind, start, text: sql.slice(start, end) };
  }
}

/** The name that a word or quoted identifier stands for, in lower case. */
export function nameOf({ text }: { readonly text: string }): string {
  return text.replace(/^"|"$/g, "").toLowerCase();
}

/** Splits SQL that contains no template tags into statements. Omits those that consist only of spaces and comments. */
export function splitStatements(sql: string, dialect: Dialect): readonly string[] {
  const statements: string[] = [];
  let from = 0;
  let isBlank = true;
  const endStatement = (at: number): void => {
    if (!isBlank) statements.push(sql.slice(from, at));
    from = at + 1;
    isBlank = true;
  };
  for (const { kind, start, text } of wholeTokens(sql, dialect)) {
    if (kind === "symbol" && text === ";") endStatement(start);
    else if (kind !== "space" && kind !== "open-line-comment" && kind !== "open-block-comment") isBlank = false;
  }
  endStatement(sql.length);
  return statements;
}

/** The index after a token. `at` is the index after the characters that open it. */
function tokenEnd(token: BareToken, sql: string, at: number, dialect: Dialect): number {
  switch (token.kind) {
    case "open-string":
      return readString(sql, at, token.style).end ?? sql.length;
    case "open-identifier":
      return readQuoted(sql, at, '"').end ?? sql.length;
    case "open-line-comment":
      return readComment(sql, at, { kind: "line-comment" }, dialect).end;
    case "open-block-comment":
      return readComment(sql, at, { kind: "block-comment", depth: 1 }, dialect).end;
    case "space":
    case "word":
    case "symbol":
    case "placeholder":
      return at;
  }
}
