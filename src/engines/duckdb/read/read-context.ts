import duckdb from "@duckdb/node-bindings";
import type { Eventually } from "../../../eventually.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { EngineOptions } from "../../embedded-engine.ts";
import type { StopSignal, Window } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import type { StreamOptions } from "../load/streamed-rows.ts";
import type { Session } from "../session/session.ts";
import type { QueryHints } from "./query-hints.ts";
import type { TotalCache } from "./total-cache.ts";
import { countQuery } from "./wrap-query.ts";

/** A running read: its statements, and what they run with. */
export interface ReadContext {
  readonly session: Session;
  readonly hints: QueryHints;
  readonly last: Statement;
  readonly window: Window;
  readonly total: Total;
  readonly signal: StopSignal;
  readonly maxValueBytes: number;
  readonly residentBytes: EngineOptions["residentBytes"];
  /** Whether a query is known to read only tables of Eider's own databases. */
  readonly readsOwnTables: (query: Statement) => boolean;
  readonly stream: Pick<StreamOptions, "isCrowded" | "failureOf">;
  readonly totals: TotalCache;
  readonly watch: Rows["watch"];
  /** Opens a second session if a slot is free. */
  readonly sibling: () => Eventually<Session> | undefined;
  /** Begins the transaction and runs the leading statements, unless that is already done. */
  start(): Promise<void>;
  /** Rolls back whatever is open, then starts again. */
  restart(): Promise<void>;
}

/** Where the total comes from. `none`: not wanted. `own`: the row count of the last statement. `known`: already counted. */
export type Total =
  | { readonly kind: "none" }
  | { readonly kind: "own" }
  | { readonly kind: "known"; readonly rows: number };

export async function countRows(session: Session, statement: Statement): Promise<number> {
  const result = await session.execute(countQuery(statement));
  const vector = duckdb.data_chunk_get_vector(duckdb.result_get_chunk(result, 0), 0);
  return Number(Buffer.from(duckdb.vector_get_data(vector, 8)).readBigInt64LE());
}
