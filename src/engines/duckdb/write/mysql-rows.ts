/** Strings, quoted names and comments. */
const NOT_BARE = /'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|`[^`]*`|#[^\n]*|--(?!\S)[^\n]*|\/\*[\s\S]*?\*\//g;
/** Such a statement may hold others. */
const MAY_HOLD_OTHERS = /^\s*(?:create|alter|begin|declare|if|case|loop|repeat|while|for)\b/i;
const RETURNS_ROWS = /^\s*(?:insert|replace|update|delete)\b[\s\S]*\breturning\b/i;

/** Why Eider cannot count the rows that this SQL changes. Undefined if it can. */
export function mysqlProblem(sql: string): string | undefined {
  const bare = sql.replace(NOT_BARE, " ");
  if (/;\s*\S/.test(bare) && !MAY_HOLD_OTHERS.test(bare)) {
    return "mysql_execute runs one statement, and this SQL holds several; write one CALL mysql_execute(...) for each";
  }
  return RETURNS_ROWS.test(bare)
    ? "mysql_execute does not return the rows of RETURNING, and MariaDB does not count them; leave it out"
    : undefined;
}

/** Keeps the number of rows that the statement before it changed. Any other statement resets this number. */
export const KEEP_ROW_COUNT = "SET @eider_rows = GREATEST(ROW_COUNT(), 0)";
export const KEPT_ROW_COUNT = "SELECT @eider_rows AS n";
