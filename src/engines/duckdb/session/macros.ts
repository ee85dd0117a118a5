/** SQL that creates the macros of a connection. If the size of values is limited, so is `repeat`. */
export function macrosOf(maxValueBytes: number): string {
  return Number.isFinite(maxValueBytes)
    ? `${remoteLiteralMacros};\n${repeatMacro(maxValueBytes)}`
    : remoteLiteralMacros;
}

const QUOTE = "''''";
const BACKSLASH = "'\\'";

/**
 * The macros by which a template puts a value into SQL for another database (`postgres_query('pg', 'select ' ||
 * sql_literal(...))`), one for each way in which databases read string literals.
 */
export const remoteLiteralMacros = [
  macro("sql_literal", replaceAll("x::VARCHAR", [[QUOTE, "''''''"]])),
  macro(
    "sql_literal_backslash_and_quote",
    replaceAll("x::VARCHAR", [
      [BACKSLASH, "'\\\\'"],
      [QUOTE, "''''''"],
    ]),
  ),
  macro(
    "sql_literal_backslash",
    // In this dialect a literal must not contain a line break.
    replaceAll("x::VARCHAR", [
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

function replaceAll(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  return pairs.reduce((inner, [from, to]) => `replace(${inner}, ${from}, ${to})`, text);
}

/**
 * `repeat` with a limit: DuckDB's own can create a huge value in one allocation, which its memory limit does not count.
 * A value that would be too long is rejected beforehand.
 */
function repeatMacro(maxValueBytes: number): string {
  const message = `repeat() would make a value of more than limits.max-value-bytes (${maxValueBytes}); make less of it, or raise the limit`;
  // In bytes; lists and BLOBs are measured by their text form.
  const length = "strlen(CAST(x AS VARCHAR)) * CAST(n AS DOUBLE)";
  return `CREATE OR REPLACE TEMP MACRO repeat(x, n) AS CASE WHEN ${length} > ${maxValueBytes} THEN error('${message}') ELSE system.main.repeat(x, n) END`;
}
