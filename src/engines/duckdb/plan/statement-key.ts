import type { Statement } from "../../../sql/statement.ts";

/** The same text for two statements only when their SQL and all their values are the same. */
export function statementKey({ sql, values }: Statement): string {
  let key = sql;
  for (const { type, value } of values) {
    const text = String(value);
    // The length keeps neighbouring values apart, and the type NULL apart from its name.
    key += value === null ? `\0${type}-` : `\0${type}${text.length}:${text}`;
  }
  return key;
}
