import type { Dialect } from "./dialect.ts";
import { type BareToken, readBareToken, readComment, readQuoted, readString } from "./sql-lexer.ts";

export interface WholeToken {
  readonly kind: BareToken["kind"];
  readonly start: number;
  readonly text: string;
}

/** The tokens of SQL without tags. Strings, quoted names and comments are one token each. */
export function* wholeTokens(sql: string, dialect: Dialect): Generator<WholeToken> {
  for (let start = 0, end = 0; start < sql.length; start = end) {
    const token = readBareToken(sql, start, dialect);
    end = endOf(token, sql, start + token.length, dialect);
    yield { kind: token.kind, start, text: sql.slice(start, end) };
  }
}

/** The name in a token, quoted or not, in lower case. */
export function nameOf({ text }: { readonly text: string }): string {
  return text.replace(/^"|"$/g, "").toLowerCase();
}

/** Splits SQL without tags into its statements. Blank ones are left out. */
export function splitStatements(sql: string, dialect: Dialect): readonly string[] {
  const texts: string[] = [];
  let from = 0;
  let isBlank = true;
  const end = (at: number): void => {
    if (!isBlank) texts.push(sql.slice(from, at));
    from = at + 1;
    isBlank = true;
  };
  for (const { kind, start, text } of wholeTokens(sql, dialect)) {
    if (kind === "symbol" && text === ";") end(start);
    else if (kind !== "space" && kind !== "open-line-comment" && kind !== "open-block-comment") isBlank = false;
  }
  end(sql.length);
  return texts;
}

/** `at` is the index after the characters that open the token. */
function endOf(token: BareToken, sql: string, at: number, dialect: Dialect): number {
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
