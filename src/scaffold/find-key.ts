import type { TextRows } from "../engines/embedded-engine.ts";
import type { Column } from "../result/column.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { validatorOf } from "./filters.ts";
import { type Key, nameInSql, type Table } from "./table.ts";

/** Rows of a sample. */
const SAMPLE_ROWS = 10_000;
/** In up to this many rows, Eider looks at all values of a column. */
const SHORT_TABLE_ROWS = 3_000_000;
const MOST_CANDIDATES = 3;

/**
 * Finds a column that identifies rows, by its name and its values. `mayReadAll` is whether reading a whole column is cheap;
 * `if-short`: if the table has few rows, which can be counted without reading them.
 */
export async function findKey(
  table: Pick<Table, "title" | "path" | "columns">,
  mayReadAll: boolean | "if-short",
  query: (sql: string) => Promise<TextRows>,
): Promise<Key | undefined> {
  const candidates = candidatesOf(table);
  if (candidates.length === 0) return undefined;
  const from = nameInSql(table);
  const names = candidates.map(({ column }) => quoteIdentifier(column.name));
  const sample = await query(
    `SELECT ${counts(names)} FROM (SELECT ${names.join(", ")} FROM ${from} LIMIT ${SAMPLE_ROWS})`,
  );
  const unique = candidates.filter((_, index) => isUnique(sample, index));
  const readsAll = mayReadAll === "if-short" ? await isShort(from, query) : mayReadAll;
  for (const { column, isNamedLikeKey } of unique) {
    if (!readsAll) {
      if (isNamedLikeKey) return { column, isVerified: false };
      continue;
    }
    const all = await query(`SELECT ${counts([quoteIdentifier(column.name)])} FROM ${from}`);
    if (isUnique(all, 0)) return { column, isVerified: true };
  }
  return undefined;
}

async function isShort(from: string, query: (sql: string) => Promise<TextRows>): Promise<boolean> {
  const [row] = await query(`SELECT count(*)::VARCHAR FROM ${from}`);
  return Number(row?.[0]) <= SHORT_TABLE_ROWS;
}

/** The number of rows; then, for each column, the number of distinct values if none is NULL, otherwise NULL. */
function counts(names: readonly string[]): string {
  const distinct = (name: string): string =>
    `CASE WHEN count(${name}) = count(*) THEN count(DISTINCT ${name}) END::VARCHAR`;
  return ["count(*)::VARCHAR", ...names.map(distinct)].join(", ");
}

/** Nothing is known about a table without rows. */
function isUnique([row]: TextRows, index: number): boolean {
  return row !== undefined && row[0] !== "0" && row[0] === row[index + 1];
}

interface Candidate {
  readonly column: Column;
  readonly isNamedLikeKey: boolean;
}

/** The columns that may be a key, the likeliest first. */
function candidatesOf({ title, columns }: Pick<Table, "title" | "columns">): readonly Candidate[] {
  const ranked = columns.flatMap((column, index) => {
    const rank = rankOf(column, title) ?? (index === 0 ? FIRST_COLUMN : undefined);
    const mayBeKey = ["int", "string", "uuid"].includes(String(validatorOf(column.type)?.["type"]));
    return rank === undefined || !mayBeKey || column.name === "" ? [] : [{ column, rank }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MOST_CANDIDATES)
    .map(({ column, rank }) => ({ column, isNamedLikeKey: rank < REFERENCE }));
}

/** A column that ends with `id` may refer to another table. */
const REFERENCE = 3;
const FIRST_COLUMN = 4;

function rankOf({ name }: Column, title: string): number | undefined {
  const folded = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  const plain = folded(name);
  if (plain === "id") return 0;
  const owner = folded(title);
  if ([owner, owner.replace(/s$/, ""), owner.replace(/ies$/, "y")].some((each) => plain === `${each}id`)) return 1;
  if (["uuid", "guid", "key"].includes(plain)) return 2;
  return /[^a-z]id$/i.test(name) || /[a-z]I[dD]$/.test(name) ? REFERENCE : undefined;
}
