import type { Dialect } from "../sql/dialect.ts";
import { type WholeToken, wholeTokens } from "../sql/whole-tokens.ts";

/** The SQL with a tag instead of each placeholder: `$name`, `$1` (as `p1`) and `:name`. */
export function withTags(sql: string, dialect: Dialect): string {
  const tokens = [...wholeTokens(sql, dialect)];
  let text = "";
  let inName = false;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (inName) inName = false;
    else if (token.kind === "placeholder" && token.text.length > 1) text += tagOf(token.text.slice(1));
    else if (isColonBeforeName(token, tokens[index - 1], next)) {
      text += tagOf(next?.text ?? "");
      inName = true;
    } else text += token.text;
  });
  return text;
}

function tagOf(name: string): string {
  return `{{params.${/^\d/.test(name) ? `p${name}` : name}}}`;
}

/**
 * Not `a::INTEGER`, `list[1:n]`, `{'a':b}` or `alias:value`: there, the colon follows a name, a number, a literal, a closing bracket or
 * another colon.
 */
function isColonBeforeName(token: WholeToken, before: WholeToken | undefined, next: WholeToken | undefined): boolean {
  if (token.text !== ":" || next?.kind !== "word" || !/^[A-Za-z_]/.test(next.text)) return false;
  return before === undefined || before.kind === "space" || /^[(,=<>+*/%|-]$/.test(before.text);
}
