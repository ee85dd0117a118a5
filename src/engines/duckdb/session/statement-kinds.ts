import duckdb from "@duckdb/node-bindings";

/** Kinds of statements that leave nothing behind on their connection once the transaction is rolled back. */
export const LEAVES_NOTHING: ReadonlySet<duckdb.StatementType> = new Set([
  duckdb.StatementType.SELECT,
  duckdb.StatementType.EXPLAIN,
  duckdb.StatementType.CREATE,
  duckdb.StatementType.DROP,
  duckdb.StatementType.ALTER,
  duckdb.StatementType.INSERT,
  duckdb.StatementType.UPDATE,
  duckdb.StatementType.DELETE,
  duckdb.StatementType.MERGE_INTO,
  duckdb.StatementType.COPY,
]);

export const MAKES_TEMPORARY = /\btemp(?:orary)?\b/i;

/** After a rollback of these kinds, an earlier prepared statement may refer to another table of the same name. */
export const CHANGES_NAMES: ReadonlySet<duckdb.StatementType> = new Set([
  duckdb.StatementType.CREATE,
  duckdb.StatementType.DROP,
  duckdb.StatementType.ALTER,
]);

/** A prepared statement with this function crashes the process when it runs a second time. */
export const RUNS_ONCE = /\bmysql_query\b/i;

export const CHANGES_ROWS: ReadonlySet<duckdb.StatementType> = new Set([
  duckdb.StatementType.INSERT,
  duckdb.StatementType.UPDATE,
  duckdb.StatementType.DELETE,
  duckdb.StatementType.MERGE_INTO,
]);
