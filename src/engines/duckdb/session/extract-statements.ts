import duckdb from "@duckdb/node-bindings";

/** The parsed statements of an SQL string. Each may be prepared only once, and only after those before it have run. */
export interface ExtractedStatements {
  readonly count: number;
  prepare(index: number): Promise<duckdb.PreparedStatement>;
}

/** Rejects with DuckDB's parser error. If the SQL contains no statements, the count is 0. */
export async function extractStatements(connection: duckdb.Connection, sql: string): Promise<ExtractedStatements> {
  const found = await duckdb.extract_statements(connection, sql).catch((error: unknown) => {
    // The bindings throw this for SQL that is only whitespace and comments.
    if (error instanceof Error && error.message === "Error in native callback") return undefined;
    throw error;
  });
  if (found === undefined) return { count: 0, prepare: () => Promise.reject(new Error("No statement")) };
  const { extracted_statements: statements, statement_count: count } = found;
  if (count === 0) throw new Error(duckdb.extract_statements_error(statements));
  return { count, prepare: (index) => duckdb.prepare_extracted_statement(connection, statements, index) };
}
