import type { Statement } from "../../../sql/statement.ts";
import type { Read } from "../../engine.ts";

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

/** Tells reads apart that would not give the same rows. What is read after a write never joins what began before it. */
export function readKey({ connections, statements, window, totalOf }: Read, moment: number): string {
  let key = `${moment}\0${connections.join("\0")}\0${window?.limit}\0${window?.offset}`;
  for (const statement of statements) key += `\0\0${statementKey(statement)}`;
  if (totalOf === statements) return `${key}\0\0total`;
  for (const statement of totalOf ?? []) key += `\0\0${statementKey(statement)}`;
  return key;
}
