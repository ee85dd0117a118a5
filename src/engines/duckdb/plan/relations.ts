import { nameOf, type WholeToken, wholeTokens } from "../../../sql/whole-tokens.ts";
import { duckdbDialect } from "../dialect.ts";

/** A table, view, file or table function that a statement names. */
export interface Relation {
  /** As the statement has it. */
  readonly text: string;
  /** The last part of its name, in lower case. */
  readonly name: string;
  /** The word after it, in lower case, which may be its alias. */
  readonly alias: string | undefined;
}

const BEFORE_RELATION = /^(?:from|join|into|update)$/i;
const NOT_A_RELATION = /^(?:select|values|lateral|unnest)$/i;

/** The relations that a statement reads or changes, as far as its text shows. Sub-queries are not among them, but what they read is. */
export function relationsIn(sql: string): readonly Relation[] {
  const tokens = [...wholeTokens(sql, duckdbDialect)].filter(({ kind }) => !/space|comment/.test(kind));
  const found: Relation[] = [];
  for (let index = 0; index < tokens.length; index++) {
    if (!BEFORE_RELATION.test(tokens[index]?.text ?? "")) continue;
    const mayCall = !/^into$/i.test(tokens[index]?.text ?? "");
    for (let at: number | undefined = index + 1; at !== undefined; ) {
      const read = readRelation(tokens, at, { sql, mayCall });
      if (read !== undefined) found.push(read.relation);
      // `FROM a, b`
      at = read !== undefined && tokens[read.end]?.text === "," ? read.end + 1 : undefined;
    }
  }
  return found;
}

function readRelation(
  tokens: readonly WholeToken[],
  start: number,
  { sql, mayCall }: { readonly sql: string; readonly mayCall: boolean },
): { readonly relation: Relation; readonly end: number } | undefined {
  const first = tokens[start];
  if (first === undefined || !isName(first) || NOT_A_RELATION.test(first.text)) return undefined;
  let end = start + 1;
  while (tokens[end]?.text === "." && isName(tokens[end + 1])) end += 2;
  const name = tokens[end - 1] ?? first;
  // `INSERT INTO t (a, b)` calls nothing.
  if (mayCall && tokens[end]?.text === "(") end = afterParenthesis(tokens, end);
  const last = tokens[end - 1] ?? first;
  const text = sql.slice(first.start, last.start + last.text.length);
  const aliasAt = /^as$/i.test(tokens[end]?.text ?? "") ? end + 1 : end;
  const alias = isName(tokens[aliasAt]) ? tokens[aliasAt] : undefined;
  const relation = { text, name: nameOf(name), alias: alias && nameOf(alias) };
  return { relation, end: alias === undefined ? end : aliasAt + 1 };
}

function isName(token: WholeToken | undefined): token is WholeToken {
  return token !== undefined && /word|identifier|string/.test(token.kind);
}

function afterParenthesis(tokens: readonly WholeToken[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at]?.text === "(") depth++;
    if (tokens[at]?.text === ")" && --depth === 0) return at + 1;
  }
  return tokens.length;
}

/** The database and the schema that a statement writes before a name, as far as it does. */
export function qualifiersOf(name: string, sql: string): readonly string[] {
  const relation = relationsIn(sql).find((each) => each.name === name.toLowerCase());
  return relation === undefined ? [] : partsOf(relation.text).slice(0, -1);
}

function partsOf(path: string): readonly string[] {
  return [...wholeTokens(path, duckdbDialect)].flatMap(({ kind, text }) =>
    kind === "word" || kind === "open-identifier" ? text.replace(/^"|"$/g, "") : [],
  );
}
