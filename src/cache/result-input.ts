import { copyString, textBytes } from "../bounded/own-text.ts";
import type { Statement } from "../sql/statement.ts";
import type { ResultDefinition } from "./snapshot-store.ts";

/** The limit for all cached inputs together: keys, and the values that a refresh needs again. */
export const MAX_INPUT_BYTES = 32 * 1024 * 1024;
/** A call with longer values is not cached: a few of them would evict all others. */
export const LARGEST_INPUT_BYTES = MAX_INPUT_BYTES / 8;
/** The entry itself, with its snapshot and its schedule. */
const ENTRY_BYTES = 1024;

/** How many bytes of its call a cache entry keeps. */
export function inputBytes(key: string, { statements }: ResultDefinition): number {
  let bytes = ENTRY_BYTES + textBytes(key);
  for (const { sql, values } of statements) {
    bytes += textBytes(sql);
    for (const { value } of values) bytes += 48 + (typeof value === "string" ? textBytes(value) : 16);
  }
  return bytes;
}

/** Copies the strings of a result: those of a call may be slices that keep a whole request body in memory. */
export function copyInput<T extends ResultDefinition>(result: T): T {
  return { ...result, statements: result.statements.map(copyStatement) };
}

function copyStatement({ sql, values }: Statement): Statement {
  return {
    sql: copyString(sql),
    values: values.map(({ type, value }) => ({ type, value: typeof value === "string" ? copyString(value) : value })),
  };
}
