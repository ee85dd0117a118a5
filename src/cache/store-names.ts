import { quoteIdentifier } from "../sql/quote.ts";
import type { CacheName, Snapshot } from "./cache.ts";

/** The quoted name of a table in the cache database. It has all three parts, since a schema may have the name of the catalog. */
export function tableIn(catalog: string, schema: string, table: string): string {
  return `${quoteIdentifier(catalog)}.${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

const MAX_PLAIN_LENGTH = 40;
const RANDOM_LENGTH = 16;

/** A new name for the table of a snapshot: the name of its cache in plain characters, and random letters to make it unique. */
export function snapshotTable({ table }: CacheName, id: number, randomId: () => string): string {
  return `${plainName(table)}__${id}_${randomLetters(randomId)}`;
}

/** A new name for a table with the rows of one call. */
export function resultTable({ table }: CacheName, randomId: () => string): string {
  return `${plainName(table)}__r_${randomLetters(randomId)}`;
}

const CACHE_TABLE = new RegExp(`__(?:\\d+|r)_[0-9a-z]{${RANDOM_LENGTH}}$`);
const RESULT_TABLE = new RegExp(`__r_[0-9a-z]{${RANDOM_LENGTH}}$`);

/** Whether a table has the name of a snapshot or result; all others belong to users. */
export function isCacheTable(table: string): boolean {
  return CACHE_TABLE.test(table);
}

/** Whether a snapshot is the table of its cache, which the template itself changes: it must not be dropped. */
export function isWrittenByTemplate({ name, physicalTable }: Pick<Snapshot, "name" | "physicalTable">): boolean {
  return foldName(name.table) === foldName(physicalTable);
}

/** Whether a table holds the rows of one call. */
export function isResult(table: string): boolean {
  return RESULT_TABLE.test(table);
}

function plainName(name: string): string {
  const text = name.slice(0, MAX_PLAIN_LENGTH).replace(/[^A-Za-z0-9_]/g, "_");
  return /^[A-Za-z_]/.test(text) ? text : `_${text}`;
}

function randomLetters(randomId: () => string): string {
  let letters = "";
  while (letters.length < RANDOM_LENGTH) {
    const more = randomId()
      .toLowerCase()
      .replace(/[^0-9a-z]/g, "");
    if (more === "") throw new Error("an id without a letter or digit is not random");
    letters += more;
  }
  return letters.slice(0, RANDOM_LENGTH);
}

/** DuckDB ignores case in names, but only for the letters A to Z. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** All spellings of names that may appear in SQL: as they are, and with doubled quotes. */
export function sqlSpellings(...names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap((name) => [name, name.replaceAll('"', '""')]))];
}
