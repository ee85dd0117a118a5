import type { BoundValue, Statement } from "../../sql/statement.ts";
import type { Window } from "../engine.ts";

/** The query as a table, from which the wanted part is read. The newline ends a comment that the query may end with. */
export function wrapQuery({ sql, values }: Statement, { limit, offset }: Window): Statement {
  const all = `SELECT * FROM (${sql}\n) q`;
  if (limit === undefined && offset === 0) return { sql: all, values };
  // DuckDB keeps the plan of a statement without parameters, and plans one with parameters at every execution. So first
  // pages of a query without values get their limit in the text: that is about twice as fast.
  if (limit !== undefined && offset === 0 && values.length === 0) return { sql: `${all} LIMIT ${limit}`, values };
  const next = `$${values.length + 1}`;
  return limit === undefined
    ? { sql: `${all} OFFSET ${next}`, values: [...values, whole(offset)] }
    : {
        sql: `${all} LIMIT ${next} OFFSET $${values.length + 2}`,
        values: [...values, whole(limit), whole(offset)],
      };
}

/** How many rows the query has. */
export function countQuery({ sql, values }: Statement): Statement {
  return { sql: `SELECT count(*) FROM (${sql}\n) q`, values };
}

function whole(number: number): BoundValue {
  return { type: "BIGINT", value: BigInt(number) };
}
