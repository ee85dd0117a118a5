import type { Lru } from "../../bounded/lru.ts";
import { integerValue, type Statement } from "../../sql/statement.ts";
import type { Window } from "../engine.ts";
import type { Prepared } from "./prepared.ts";
import type { Session } from "./session.ts";
import { PostgresError } from "./wire/postgres-error.ts";

/** What earlier reads revealed about queries, by their SQL. */
export interface QueryForms {
  /** `cut`: a LIMIT cannot be appended, because the query has its own. `alone`: it cannot be a sub-query either. */
  readonly window: Lru<"cut">;
  readonly count: Lru<"alone">;
  /** Queries whose page was full, so that the total had to be counted. */
  readonly fullPages: Lru<true>;
}

/** A query, and the part of its rows that the reader must take itself. */
export interface WindowedQuery {
  readonly prepared: Prepared;
  readonly cut: Window;
}

export const EVERYTHING: Window = { limit: undefined, offset: 0 };

/** Statements to which a LIMIT can be appended with the same meaning. An EXPLAIN would explain another query. */
const PLAIN_QUERY = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|\()*(?:select|with|values|table)\b/i;

/** Prepares a query with its window: appended, so that an ORDER BY keeps its effect, or cut off by the reader. */
export async function windowedQuery(
  query: Statement,
  window: Window | undefined,
  { session, forms }: { readonly session: Session; readonly forms: QueryForms },
): Promise<WindowedQuery> {
  const { limit, offset } = window ?? EVERYTHING;
  if (limit === undefined && offset === 0) return { prepared: await session.prepare(query), cut: EVERYTHING };
  if (forms.window.get(query.sql) !== "cut" && PLAIN_QUERY.test(query.sql) && !session.isInTransaction()) {
    try {
      return { prepared: await session.prepare(withWindow(query, { limit, offset })), cut: EVERYTHING };
    } catch (error) {
      if (!isRejected(error)) throw error;
      forms.window.set(query.sql, "cut");
    }
  }
  return { prepared: await session.prepare(query), cut: { limit, offset } };
}

/** Both are always there: an OFFSET alone would apply to a LIMIT of the query. */
function withWindow({ sql, values }: Statement, { limit, offset }: Window): Statement {
  const [first, second] = [values.length + 1, values.length + 2];
  return {
    sql: `${sql}\nLIMIT $${first} OFFSET $${second}`,
    values: [
      ...values,
      limit === undefined ? { type: "BIGINT", value: null } : integerValue(limit),
      integerValue(offset),
    ],
  };
}

/** A query for the number of rows. Undefined if the query cannot be a sub-query. */
export async function countQuery(
  { sql, values }: Statement,
  { session, forms }: { readonly session: Session; readonly forms: QueryForms },
): Promise<Prepared | undefined> {
  if (forms.count.get(sql) === "alone" || !PLAIN_QUERY.test(sql)) return undefined;
  try {
    return await session.prepare({ sql: `SELECT count(*) FROM (${sql}\n) q`, values });
  } catch (error) {
    if (!isRejected(error) || session.isInTransaction()) throw error;
    forms.count.set(sql, "alone");
    return undefined;
  }
}

/** Whether the server rejects the changed statement: a syntax error, or a feature that a sub-query lacks. */
function isRejected(error: unknown): boolean {
  return error instanceof PostgresError && (error.code === "42601" || error.code.startsWith("0A"));
}
