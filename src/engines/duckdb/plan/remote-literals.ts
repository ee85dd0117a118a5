const QUOTE = "''''";
const BACKSLASH = "'\\'";

/**
 * The macros by which a template puts a value into SQL for somebody else (`postgres_query('pg', 'select ' ||
 * sql_literal(...))`), one per way in which the other side reads string literals. decisions.md 4.
 */
export const remoteLiteralMacros = [
  macro("sql_literal", replaced("x::VARCHAR", [[QUOTE, "''''''"]])),
  macro(
    "sql_literal_backslash_and_quote",
    replaced("x::VARCHAR", [
      [BACKSLASH, "'\\\\'"],
      [QUOTE, "''''''"],
    ]),
  ),
  macro(
    "sql_literal_backslash",
    // There a literal may not run over the end of a line.
    replaced("x::VARCHAR", [
      [BACKSLASH, "'\\\\'"],
      [QUOTE, "'\\'''"],
      ["chr(10)", "'\\n'"],
      ["chr(13)", "'\\r'"],
    ]),
  ),
].join(";\n");

function macro(name: string, text: string): string {
  return `CREATE OR REPLACE TEMP MACRO ${name}(x) AS CASE WHEN x IS NULL THEN 'NULL' ELSE ${QUOTE} || ${text} || ${QUOTE} END`;
}

function replaced(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  return pairs.reduce((inner, [from, to]) => `replace(${inner}, ${from}, ${to})`, text);
}
