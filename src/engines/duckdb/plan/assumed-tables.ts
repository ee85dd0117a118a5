import duckdb from "@duckdb/node-bindings";
import { makeUnique } from "../../../result/column-names.ts";
import { changedName, effectsOf } from "../../../sql/classify.ts";
import { quoteIdentifier } from "../../../sql/quote.ts";
import type { Statement } from "../../../sql/statement.ts";
import { tokensOf } from "../../../sql/statement-words.ts";
import type { AssumedColumn, AssumedTable } from "../../embedded-engine.ts";
import { duckdbDialect } from "../dialect.ts";

/** The catalog that holds empty tables in place of those that do not exist yet. */
export const ASSUMED_CATALOG = "eider_assumed";
export const ATTACH_ASSUMED = `ATTACH IF NOT EXISTS ':memory:' AS ${ASSUMED_CATALOG}`;

/** A statement that refers to assumed tables by the catalog that holds them. */
export interface RewrittenStatement {
  readonly statement: Statement;
  /** The offset in the original statement. */
  originalOffset(offset: number): number;
}

export interface AssumedTables {
  rewrite(statement: Statement): RewrittenStatement;
  /** A message from the database with the names that the author wrote. */
  originalMessage(message: string): string;
  /** From now on, statements that name the table are rewritten. */
  add(table: AssumedTable): void;
  drop(native: duckdb.Connection, table: AssumedTable): Promise<void>;
  /** Creates it under each of its names that does not exist yet. Returns its columns. */
  create(
    native: duckdb.Connection,
    table: AssumedTable,
    columns: readonly AssumedColumn[],
  ): Promise<readonly AssumedColumn[]>;
  /** Runs one piece of work after the other: transactions that create the same schema or table conflict. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

export function openAssumedTables(): AssumedTables {
  /** The catalogs in their original spelling, by three-part table names in upper case. */
  const catalogs = new Map<string, string>();
  let last: Promise<unknown> = Promise.resolve();

  return {
    rewrite(statement) {
      const spans = catalogs.size === 0 ? [] : catalogSpans(statement.sql, catalogs);
      return spans.length === 0 ? { statement, originalOffset: (offset) => offset } : replaceSpans(statement, spans);
    },
    originalMessage(message) {
      const [catalog] = catalogs.values();
      return catalog === undefined ? message : message.replaceAll(ASSUMED_CATALOG, catalog);
    },
    add({ catalog, schema, tables }) {
      for (const table of tables) catalogs.set(keyOf([catalog, schema, table]), catalog);
    },
    async drop(native, { schema, tables }) {
      await duckdb.query(native, `CREATE SCHEMA IF NOT EXISTS ${ASSUMED_CATALOG}.${quoteIdentifier(schema)}`);
      for (const table of tables) await duckdb.query(native, `DROP TABLE IF EXISTS ${nameIn(schema, table)}`);
    },
    async create(native, { schema, tables }, described) {
      const columns = storedColumns(described);
      const definitions = columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`).join(", ");
      for (const table of tables) {
        await duckdb.query(native, `CREATE TABLE IF NOT EXISTS ${nameIn(schema, table)} (${definitions})`);
      }
      return columns;
    },
    inTurn(work) {
      const done = last.then(work);
      last = done.catch(() => {});
      return done;
    },
  };
}

/** Whether a statement creates, alters or drops an assumed table. */
export function definesAssumed(sql: string): boolean {
  if (!sql.includes(ASSUMED_CATALOG)) return false;
  const [effect] = effectsOf([sql], duckdbDialect);
  const isDefinition = effect?.kind === "changes" && ["CREATE", "ALTER", "DROP"].includes(effect.verb);
  return isDefinition && changedName(sql, duckdbDialect)?.[0] === ASSUMED_CATALOG;
}

function nameIn(schema: string, table: string): string {
  return `${ASSUMED_CATALOG}.${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

function keyOf(parts: readonly string[]): string {
  return JSON.stringify(parts.map((part) => part.toUpperCase()));
}

/** The columns of a query as a table stores them: with unique names, and with a type even for NULL. */
function storedColumns(columns: readonly AssumedColumn[]): readonly AssumedColumn[] {
  const names = makeUnique(
    columns.map(({ name }) => name),
    (name) => name.toLowerCase(),
  );
  return columns.map(({ type }, index) => ({
    name: names[index] ?? "",
    type: /^"?NULL"?$/.test(type) ? "INTEGER" : type,
  }));
}

/** Where the SQL of a statement names the catalog of an assumed table. */
interface CatalogSpan {
  readonly start: number;
  readonly end: number;
}

function catalogSpans(sql: string, catalogs: ReadonlyMap<string, string>): readonly CatalogSpan[] {
  const tokens = tokensOf(sql, duckdbDialect);
  return tokens.flatMap((token, index) => {
    const [first, dot, second, otherDot, third] = tokens.slice(index, index + 5);
    if (tokens[index - 1]?.text === "." || dot?.text !== "." || otherDot?.text !== ".") return [];
    const isAssumed = catalogs.has(keyOf([first?.text ?? "", second?.text ?? "", third?.text ?? ""]));
    return isAssumed ? [{ start: token.at, end: dot.at }] : [];
  });
}

function replaceSpans({ sql, values }: Statement, spans: readonly CatalogSpan[]): RewrittenStatement {
  let text = "";
  let from = 0;
  /** Positions after which the rewritten text is ahead of the original by `by`. */
  const shifts: { readonly at: number; readonly by: number }[] = [];
  for (const { start, end } of spans) {
    text += sql.slice(from, start) + ASSUMED_CATALOG;
    shifts.push({ at: text.length, by: text.length - end });
    from = end;
  }
  return {
    statement: { sql: text + sql.slice(from), values },
    originalOffset: (offset) => offset - (shifts.findLast(({ at }) => at <= offset)?.by ?? 0),
  };
}
