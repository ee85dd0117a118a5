import { quoteIdentifier } from "../../../sql/quote.ts";
import { type Statement, statement } from "../../../sql/statement.ts";
import type { Rows } from "../../rows.ts";
import type { Session } from "../session/session.ts";
import { storedColumns, storedType } from "./stored-types.ts";

/** Rows in a temporary table of the current transaction. */
export interface StagedRows {
  /** A query that returns them, with their names. */
  readonly query: Statement;
  readonly drop: Statement;
}

/** Puts rows of another engine into a temporary table. DuckDB moves them to disk if they exceed its memory. */
export async function stageRows(session: Session, rows: Rows): Promise<StagedRows> {
  const name = `eider_rows_${crypto.randomUUID()}`;
  const table = `temp.main.${quoteIdentifier(name)}`;
  const columns = rows.columns.map(({ type }, index) => `c${index} ${storedType(type).appended}`);
  await session.execute(statement(`CREATE TEMP TABLE ${quoteIdentifier(name)} (${columns.join(", ")})`));
  await session.append(name, rows);
  return {
    query: statement(`SELECT ${storedColumns(rows.columns)} FROM ${table}`),
    drop: statement(`DROP TABLE ${table}`),
  };
}
