import { RequestFailure } from "../failure.ts";
import { makeUnique } from "../result/column-names.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { type Statement, statement } from "../sql/statement.ts";
import type { CacheMode } from "./cache.ts";
import { comparedCursor, finiteCursor } from "./cursor.ts";
import { foldName } from "./store-names.ts";
import { asColumn, columnsOf, comparable, type Run, type TableColumn } from "./store-sql.ts";

/** The columns of a query differ from those of the snapshot that its rows would be added to. */
export class ColumnsChanged extends Error {}

/** Where the rows of a query go. Names are quoted for SQL. */
export interface TableFill {
  readonly mode: CacheMode;
  readonly target: string;
  /** A name for a temporary table. */
  readonly stage: string;
  /** The snapshot that the new rows are added to; undefined: rebuild all rows. */
  readonly base: { readonly table: string; readonly columns: readonly TableColumn[] } | undefined;
}

/** Runs statements and creates a table from the rows of the last. Rejects with ColumnsChanged if they do not match the base. */
export async function fillTable(run: Run, statements: readonly Statement[], filling: TableFill): Promise<void> {
  const { mode, target, stage, base } = filling;
  for (const each of statements.slice(0, -1)) await run(each);
  const query = await namedQuery(run, statements.at(-1));
  checkColumns(mode, query.names);
  // A merge needs a temporary table even for the first fill, to remove duplicate keys.
  if (mode.kind === "full" || (mode.kind === "append" && base === undefined)) {
    await run({ sql: `CREATE TABLE ${target} AS ${query.sql}`, values: query.values });
    return;
  }
  await run({ sql: `CREATE TEMP TABLE ${stage} AS ${query.sql}`, values: query.values });
  const rows = `temp.main.${stage}`;
  const columns = await columnsOf(run, statement(rows));
  if (base !== undefined && !haveSameColumns(base.columns, columns)) throw new ColumnsChanged();
  await run(statement(`CREATE TABLE ${target} AS ${combineSql(mode, { rows, base: base?.table, columns })}`));
  await run(statement(`DROP TABLE ${rows}`));
}

const MAX_ROWS = "9223372036854775807";

/** DuckLake writes the row groups of a parallel query in any order. A limit makes the query sequential at its end. */
export function withoutParallelWrites(query: Statement, index: number, all: readonly Statement[]): Statement {
  if (index < all.length - 1) return query;
  return { sql: `SELECT * FROM (${query.sql}\n) LIMIT ${MAX_ROWS}`, values: query.values };
}

/** Gives the columns of a query unique names. The newline ends a trailing comment. */
async function namedQuery(
  run: Run,
  query: Statement | undefined,
): Promise<Statement & { readonly names: readonly string[] }> {
  if (query === undefined) throw queryFailure("The template holds no statement.");
  const { sql, values } = query;
  const columns = await columnsOf(run, { sql: `(${sql}\n)`, values });
  const names = makeUnique(
    columns.map(({ name }) => name),
    foldName,
  );
  return { sql: `SELECT * FROM (${sql}\n) AS q(${names.map(quoteIdentifier).join(", ")})`, values, names };
}

function checkColumns(mode: CacheMode, names: readonly string[]): void {
  const known = new Set(names.map(foldName));
  for (const [role, column] of neededColumns(mode)) {
    if (known.has(foldName(column))) continue;
    throw queryFailure(
      `The query has no column '${column}', which the cache has as its ${role}; it has ${names.join(", ")}`,
    );
  }
}

function neededColumns(mode: CacheMode): readonly (readonly [role: string, column: string])[] {
  switch (mode.kind) {
    case "full":
      return [];
    case "append":
      return [["cursor", mode.cursor]];
    case "merge":
      return [["cursor", mode.cursor], ...mode.primaryKey.map((key) => ["primary-key", key] as const)];
  }
}

function haveSameColumns(some: readonly TableColumn[], others: readonly TableColumn[]): boolean {
  const isSame = ({ name, type }: TableColumn, index: number): boolean =>
    name === others[index]?.name && type === others[index]?.type;
  return some.length === others.length && some.every(isSame);
}

/** The type of a column, as DuckDB writes it. */
export function columnType(columns: readonly TableColumn[], name: string): string {
  return columns.find((column) => foldName(column.name) === foldName(name))?.type ?? "";
}

interface Combination {
  readonly rows: string;
  readonly base: string | undefined;
  readonly columns: readonly TableColumn[];
}

function combineSql(mode: Incremental, { rows, base, columns }: Combination): string {
  const cursorColumnType = columnType(columns, mode.cursor);
  switch (mode.kind) {
    case "append":
      return base === undefined
        ? `FROM ${rows}`
        : appendSql(rows, base, { cursor: finiteCursor(mode, cursorColumnType), columns });
    case "merge": {
      const keys = mode.primaryKey.map((name) => ({ name, type: columnType(columns, name) }));
      const newest = newestOfEachKey(rows, keys, comparedCursor(mode, cursorColumnType));
      return base === undefined ? newest : mergeSql(rows, base, { keys, newest });
    }
  }
}

type Incremental = Exclude<CacheMode, { kind: "full" }>;

/** SQL for a column in comparisons. `prefix` is a table alias and a dot. */
function comparableColumn(column: TableColumn, prefix = ""): string {
  return comparable(`${prefix}${quoteIdentifier(column.name)}`, column);
}

/**
 * Adds rows beyond the largest cached cursor value. Rows at that value, and rows without a finite one (`cursor` is NULL), are
 * added only if they are not cached yet.
 */
function appendSql(
  rows: string,
  base: string,
  { cursor, columns }: { readonly cursor: string; readonly columns: readonly TableColumn[] },
): string {
  const largest = `(SELECT max(${cursor}) FROM ${base})`;
  const mayBeCached = `${cursor} = ${largest} OR ${cursor} IS NULL`;
  const aliases = columns.map((_, index) => `c${index}`);
  const all = columns.map((column) => comparableColumn(column)).join(", ");
  const restored = columns.map((column, index) => asColumn(`c${index}`, column)).join(", ");
  return `SELECT * FROM ${base}
    UNION ALL SELECT * FROM ${rows} WHERE coalesce(${cursor} > ${largest}, ${cursor} IS NOT NULL)
    UNION ALL SELECT ${restored} FROM (SELECT ${all} FROM ${rows} WHERE ${mayBeCached}
      EXCEPT ALL SELECT ${all} FROM ${base} WHERE ${mayBeCached}) AS late(${aliases.join(", ")})`;
}

interface Merge {
  readonly keys: readonly TableColumn[];
  readonly newest: string;
}

function mergeSql(rows: string, base: string, { keys, newest }: Merge): string {
  const sameKey = keys.map(
    (key) => `${comparableColumn(key, "n.")} IS NOT DISTINCT FROM ${comparableColumn(key, "o.")}`,
  );
  return `SELECT * FROM ${base} AS o WHERE NOT EXISTS (SELECT 1 FROM ${rows} AS n WHERE ${sameKey.join(" AND ")})
    UNION ALL (${newest})`;
}

/** If cursors are equal, the last row of the query wins. */
function newestOfEachKey(rows: string, keys: readonly TableColumn[], cursor: string): string {
  const list = keys.map((key) => comparableColumn(key)).join(", ");
  return `SELECT * FROM ${rows} QUALIFY row_number() OVER (PARTITION BY ${list}
    ORDER BY ${cursor} DESC NULLS LAST, rowid DESC NULLS LAST) = 1 ORDER BY rowid ASC NULLS LAST`;
}

function queryFailure(message: string): RequestFailure {
  return new RequestFailure({ kind: "query-failed", message });
}
