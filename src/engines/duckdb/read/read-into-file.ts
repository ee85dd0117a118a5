import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Column } from "../../../result/column.ts";
import { type Statement, textValue } from "../../../sql/statement.ts";
import type { FileKind, FileRows, NewFile } from "../../embedded-engine.ts";
import type { Read, Window } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { EVERYTHING } from "../load/held-rows.ts";
import { resultColumns } from "../load/logical-type.ts";
import type { Session } from "../session/session.ts";
import { stageRows } from "../write/stage-rows.ts";
import { parquetQuery, type WideInteger } from "./parquet-columns.ts";
import type { QueryHints } from "./query-hints.ts";
import { countRows } from "./read-context.ts";
import { findTotal, readTransactionOf } from "./read-transaction.ts";
import { windowedQuery } from "./windowed-query.ts";

interface CopyContext {
  readonly session: Session;
  readonly hints: QueryHints;
}

/** Writes the rows with COPY. Columns, rows and total come from one transaction. Messages do not show the file's path. */
export async function readIntoFile(read: Read, file: NewFile, { session, hints }: CopyContext): Promise<FileRows> {
  try {
    return await copyInto(read, file, { session, hints, wide: "DECIMAL(38,0)" }).catch(async (error: unknown) => {
      // A number of 39 digits, for which Parquet has no type. Such a failure also ends the transaction.
      if (!errorMessage(error).includes("to DECIMAL(38,0)")) throw error;
      await session.rollback();
      return await copyInto(read, file, { session, hints, wide: "VARCHAR" });
    });
  } catch (error) {
    if (error instanceof RequestFailure) throw error;
    throw new Error(errorMessage(error).replaceAll(file.path, "spool"));
  }
}

/** Used to get the columns: DuckDB plans the query but reads nothing. */
const NO_ROWS: Window = { limit: 0, offset: 0 };

async function copyInto(
  read: Read,
  file: NewFile,
  { session, hints, wide }: CopyContext & { readonly wide: WideInteger },
): Promise<FileRows> {
  const transaction = readTransactionOf(read, session);
  const { last } = transaction;
  const window = read.window ?? EVERYTHING;
  const total = await findTotal(read, session, transaction);
  await transaction.start();
  const emptyQuery = await windowedQuery(last, NO_ROWS, { session, hints });
  const query = emptyQuery && (await windowedQuery(last, window, { session, hints }));
  if (emptyQuery === undefined || query === undefined) throw notAQuery(file.kind);

  const columns = resultColumns(await session.execute(emptyQuery));
  const rows = duckdb.rows_changed(await session.execute(copyQuery(query, columns, { file, wide })));
  switch (total.kind) {
    case "none":
      return { rows, total: undefined };
    case "known":
      return { rows, total: total.rows };
    case "own":
      return { rows, total: totalFromPage(rows, window) ?? (await countRows(session, last)) };
  }
}

/** Writes rows of another engine, through a temporary table. */
export async function rowsIntoFile(rows: Rows, file: NewFile, session: Session): Promise<FileRows> {
  await session.begin();
  const { query } = await stageRows(session, rows);
  const columns = resultColumns(await session.execute({ ...query, sql: `${query.sql} LIMIT 0` }));
  const written = await session.execute(copyQuery(query, columns, { file, wide: "DECIMAL(38,0)" }));
  await session.rollback();
  return { rows: duckdb.rows_changed(written), total: rows.total };
}

/** The path is bound, so that the statement is the same for each call and stays prepared. */
function copyQuery(
  { sql, values }: Statement,
  columns: readonly Column[],
  { file, wide }: { readonly file: NewFile; readonly wide: WideInteger },
): Statement {
  return {
    // With USE_TMP_FILE, DuckDB writes a second temporary file, which may stay behind.
    sql: `COPY (${parquetQuery(sql, columns, wide)}) TO $${values.length + 1} (FORMAT ${file.kind}, USE_TMP_FILE false)`,
    values: [...values, textValue(file.path)],
  };
}

/** A page that is not full is the last one. */
function totalFromPage(written: number, { limit, offset }: Window): number | undefined {
  const isLast = (limit === undefined || written < limit) && (written > 0 || offset === 0);
  return isLast ? offset + written : undefined;
}

/** PRAGMA, CALL, EXPLAIN and the like: the client can request their rows in another format. */
function notAQuery(kind: FileKind): RequestFailure {
  const message = `Not available as ${kind}: the last statement of the template is no query`;
  return new RequestFailure({ kind: "invalid-params", errors: [{ field: "format", message }] });
}
