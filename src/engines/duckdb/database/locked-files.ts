import { errorMessage } from "../../../error-message.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import { wholeTokens } from "../../../sql/whole-tokens.ts";
import type { OpenOptions } from "../../embedded-engine.ts";
import { duckdbDialect } from "../dialect.ts";

const LOCKED = /Could not set lock on file "([^"]+)"(?:.*?\(PID (\d+)\))?/s;

/** Whether a database file cannot be opened because another process has locked it. */
export function isLocked(message: string): boolean {
  return LOCKED.test(message);
}

/** Opens a file. If another process has locked it and `copyLocked` is set, opens a copy of it instead. */
export async function openOrCopy<T>(
  open: (copy: string | undefined) => Promise<T>,
  { copyLocked }: Pick<OpenOptions, "copyLocked">,
): Promise<T> {
  try {
    return await open(undefined);
  } catch (error) {
    const [, path, pid] = LOCKED.exec(errorMessage(error)) ?? [];
    if (path === undefined || copyLocked === undefined) throw error;
    return await open(await copyLocked({ path, pid: pid === undefined ? undefined : Number(pid) }));
  }
}

/** The same for a statement that attaches a file. */
export function attachOrCopy<T>(
  sql: string,
  run: (sql: string) => Promise<T>,
  options: Pick<OpenOptions, "copyLocked">,
): Promise<T> {
  return openOrCopy((copy) => run(copy === undefined ? sql : withPath(sql, copy)), canCopy(sql) ? options : {});
}

/** Files of a DuckLake catalog contain paths of other files, which a copy would change or delete. */
function canCopy(sql: string): boolean {
  return !/ducklake/i.test(sql);
}

/** The path is the first string of ATTACH. */
function withPath(sql: string, path: string): string {
  const found = [...wholeTokens(sql, duckdbDialect)].find(({ kind }) => kind === "open-string");
  if (found === undefined) return sql;
  const { start, text } = found;
  return sql.slice(0, start) + quoteLiteral(path) + sql.slice(start + text.length);
}
