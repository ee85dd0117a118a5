import duckdb from "@duckdb/node-bindings";
import { extractStatements } from "./extract-statements.ts";

interface PartOptions {
  readonly runPart: (part: duckdb.PreparedStatement) => Promise<unknown>;
  /** Called with every part, which the caller destroys. */
  readonly onPrepared: (part: duckdb.PreparedStatement) => void;
}

/**
 * DuckDB expands some statements, such as PIVOT: a temporary type from the data, then the query. Runs every part but the last,
 * and returns that. A transaction must be open.
 */
export async function prepareParts(
  connection: duckdb.Connection,
  sql: string,
  { runPart, onPrepared }: PartOptions,
): Promise<duckdb.PreparedStatement> {
  const { count, prepare: prepareAt } = await extractStatements(connection, sql);
  const prepare = async (index: number): Promise<duckdb.PreparedStatement> => {
    const part = await prepareAt(index);
    onPrepared(part);
    return part;
  };
  let part = await prepare(0);
  // Some are wrapped in two SETs that control how errors end the transaction. These are skipped: here, any error ends it.
  const isWrapped = duckdb.prepared_statement_type(part) === duckdb.StatementType.SET;
  if (isWrapped) part = await prepare(1);
  for (let index = isWrapped ? 2 : 1; index < count - (isWrapped ? 1 : 0); index++) {
    await runPart(part);
    part = await prepare(index);
  }
  return part;
}
