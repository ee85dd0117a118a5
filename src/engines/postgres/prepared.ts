import type { Column } from "../../result/column.ts";
import type { Statement } from "../../sql/statement.ts";
import type { ValueType } from "./types/plain-types.ts";

/** A statement that the server has parsed, and how its rows are returned. */
export interface Prepared {
  /** Empty if the server keeps it only until the next one. */
  readonly name: string;
  readonly statement: Statement;
  readonly columns: readonly Column[];
  readonly types: readonly ValueType[];
  /** 1 for each column in binary form. */
  readonly formats: readonly number[];
}

/** What a connection keeps of a statement. */
export type Plan = Omit<Prepared, "statement">;
