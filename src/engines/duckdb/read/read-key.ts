import type { Statement } from "../../../sql/statement.ts";
import type { Read } from "../../engine.ts";

/** Two statements have the same key only when their SQL and all their values are equal. */
export function statementKey({ sql, values }: Statement): string {
  let key = sql;
  for (const { type, value } of values) {
    const text = String(value);
    // The length separates neighbouring values; `-` distinguishes NULL from "null".
    key += value === null ? `\0${type}-` : `\0${type}${text.length}:${text}`;
  }
  return key;
}

/** Two reads have the same key only when they return the same rows. A read after a write never joins one from before it. */
export function readKey({ connections, statements, window, totalOf }: Read, moment: number): string {
  let key = `${moment}\0${connections.join("\0")}\0${window?.limit}\0${window?.offset}`;
  for (const statement of statements) key += `\0\0${statementKey(statement)}`;
  if (totalOf === statements) return `${key}\0\0total`;
  for (const statement of totalOf ?? []) key += `\0\0${statementKey(statement)}`;
  return key;
}
