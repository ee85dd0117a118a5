import type { Dialect } from "./dialect.ts";
import { type WholeToken, wholeTokens } from "./whole-tokens.ts";

/** `INSERT INTO t VALUES (...)` with one row, which can be repeated with other values. */
export interface RowInsert {
  /** The same INSERT with this many rows. The placeholders are numbered row by row. */
  withRows(count: number): string;
}

/** Neither their result nor their effect depends on other rows of the same statement, and running them again does no harm. */
const REPEATABLE = new Set(
  "CAST DECIMAL NUMERIC NOW UUID GEN_RANDOM_UUID NEXTVAL COALESCE NULLIF LOWER UPPER TRIM".split(" "),
);

/**
 * Undefined for every other statement: with several rows, ON CONFLICT, RETURNING or a subquery, or with a function that could do
 * more than compute a value.
 */
export function rowInsertOf(sql: string, valueCount: number, dialect: Dialect): RowInsert | undefined {
  const tokens = [...wholeTokens(sql, dialect)].filter(
    ({ kind }) => kind !== "space" && kind !== "open-line-comment" && kind !== "open-block-comment",
  );
  const isWord = (index: number, word: string): boolean => {
    const token = tokens[index];
    return token?.kind === "word" && token.text.toUpperCase() === word;
  };
  const open = endOfTarget(tokens) + 1;
  if (!isWord(0, "INSERT") || !isWord(1, "INTO") || !isWord(open - 1, "VALUES")) return undefined;
  const row = tokens.slice(open);
  const [first, last] = [row[0], row.at(-1)];
  if (first?.text !== "(" || last === undefined) return undefined;
  let depth = 0;
  for (const [index, token] of row.entries()) {
    if (token.kind === "placeholder" && !/^\$\d+$/.test(token.text)) return undefined;
    if (isSymbol(token, "(")) {
      const [before, called] = [row[index - 2], row[index - 1]];
      const isRepeatable =
        called?.kind === "word" && REPEATABLE.has(called.text.toUpperCase()) && !isSymbol(before, ".");
      if (depth++ > 0 && !isRepeatable) return undefined;
    }
    // Only the last token closes the row.
    if (isSymbol(token, ")") && (--depth === 0) !== (token === last)) return undefined;
  }
  if (depth !== 0 || !isSymbol(last, ")")) return undefined;
  const head = sql.slice(0, first.start);
  const pieces = row.filter(({ kind }) => kind === "placeholder");
  const rowWith = (offset: number): string => {
    let text = "";
    let at = first.start;
    for (const { start, text: placeholder } of pieces) {
      text += sql.slice(at, start) + dialect.placeholder(Number(placeholder.slice(1)) + offset);
      at = start + placeholder.length;
    }
    return text + sql.slice(at, last.start + 1);
  };
  return {
    withRows: (count) => head + Array.from({ length: count }, (_, number) => rowWith(number * valueCount)).join(", "),
  };
}

/** The index after `INSERT INTO a.b.c (x, y)`. */
function endOfTarget(tokens: readonly WholeToken[]): number {
  let at = 3;
  while (isSymbol(tokens[at], ".")) at += 2;
  if (!isSymbol(tokens[at], "(")) return at;
  const isName = ({ kind, text }: WholeToken): boolean => kind === "word" || kind === "open-identifier" || text === ",";
  const after = tokens.findIndex((token, index) => index > at && !isName(token));
  return isSymbol(tokens[after], ")") ? after + 1 : tokens.length;
}

function isSymbol(token: WholeToken | undefined, text: string): boolean {
  return token?.kind === "symbol" && token.text === text;
}
