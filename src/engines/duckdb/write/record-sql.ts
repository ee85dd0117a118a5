import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { integerValue, type Statement, statement, textValue } from "../../../sql/statement.ts";

export const RECORDS = "eider_idempotency_keys";

/** A table of records, in the database that the recorded writes change. */
export interface RecordTable {
  readonly database: string;
  /** The type of the database, as DuckDB calls it. */
  readonly type: string;
}

/** One row of the table: a write that is done, or one of its statements that committed by itself. */
export interface RecordRow {
  readonly id: string;
  /** A hash of the request. */
  readonly request: string;
  /** Rows that were changed so far. */
  readonly changed: number;
  readonly response: string | undefined;
  /** When the row was added, in milliseconds. */
  readonly since: number;
}

/** Creates the table if missing. Each statement commits by itself. */
export function createStatements(table: RecordTable): readonly Statement[] {
  const columns = (key: string): string =>
    `(id VARCHAR${key}, request VARCHAR, changed BIGINT, response VARCHAR, since BIGINT)`;
  if (table.type !== "mysql")
    return [statement(`CREATE TABLE IF NOT EXISTS ${nameOf(table)} ${columns(" PRIMARY KEY")}`)];
  // DuckDB maps every string to TEXT, which cannot be a key and is limited to 64 KiB. So MySQL's own SQL creates the table.
  const sql =
    `CREATE TABLE IF NOT EXISTS ${RECORDS} (id VARCHAR(80) PRIMARY KEY, request VARCHAR(64), changed BIGINT, ` +
    "response LONGTEXT, since BIGINT) ENGINE = InnoDB CHARACTER SET utf8mb4";
  return [
    statement(`CALL mysql_execute(${quoteLiteral(table.database)}, ${quoteLiteral(sql)})`),
    // Changes nothing in MySQL, but makes DuckDB see the table.
    statement(`CREATE TABLE IF NOT EXISTS ${nameOf(table)} ${columns("")}`),
  ];
}

const COLUMNS = ["id", "request", "changed", "response", "since"];

/** The rows with these ids, as text. */
export function findStatement(table: RecordTable, ids: readonly string[]): Statement {
  const columns = COLUMNS.map((column) => `${column}::VARCHAR`).join(", ");
  const placeholders = ids.map((_, index) => `$${index + 1}`).join(", ");
  const values = ids.map(textValue);
  if (table.type !== "sqlite") {
    return { sql: `SELECT ${columns} FROM ${nameOf(table)} WHERE id IN (${placeholders})`, values };
  }
  // DuckDB itself would read the whole SQLite table.
  const query = `SELECT ${COLUMNS.join(", ")} FROM ${RECORDS} WHERE id IN (${ids.map(() => "?").join(", ")})`;
  const from = `sqlite_query(${quoteLiteral(table.database)}, ${quoteLiteral(query)}, params := row(${placeholders}))`;
  return { sql: `SELECT ${columns} FROM ${from}`, values };
}

export function insertStatement(table: RecordTable, { id, request, changed, response, since }: RecordRow): Statement {
  return {
    sql: `INSERT INTO ${nameOf(table)} VALUES ($1, $2, $3, $4, $5)`,
    values: [textValue(id), textValue(request), integerValue(changed), textValue(response), integerValue(since)],
  };
}

export function deleteStatement(table: RecordTable, id: string): Statement {
  return { sql: `DELETE FROM ${nameOf(table)} WHERE id = $1`, values: [textValue(id)] };
}

export function deleteOldStatement(table: RecordTable, oldest: number): Statement {
  return { sql: `DELETE FROM ${nameOf(table)} WHERE since < $1`, values: [integerValue(oldest)] };
}

/** The databases and schemas of tables from an earlier version: these hold the text of requests. */
export const OLD_TABLES = statement(
  "SELECT lower(database_name), schema_name FROM duckdb_columns() JOIN duckdb_databases() USING (database_name) " +
    `WHERE table_name = '${RECORDS}' AND column_name = 'fingerprint' AND NOT readonly`,
);

/** Fails unless the table is from an earlier version. */
export function oldProbe(table: RecordTable): Statement {
  return statement(`SELECT fingerprint FROM ${nameOf(table)} LIMIT 0`);
}

/** Converts a table from an earlier version into one with hashes. To be run in one transaction. */
export function upgradeStatements(table: RecordTable, schema = "main"): readonly Statement[] {
  const old = `${quoteIdentifier(table.database)}.${quoteIdentifier(schema)}.${RECORDS}`;
  const rows =
    "SELECT sha256(scope || chr(10) || key) AS id, sha256(fingerprint) AS request, 0 AS changed, answer AS response, since";
  return [
    statement(`CREATE TEMP TABLE eider_upgraded_keys AS ${rows} FROM ${old}`),
    statement(`DROP TABLE ${old}`),
    ...createStatements(table),
    statement(`INSERT OR IGNORE INTO ${nameOf(table)} SELECT * FROM eider_upgraded_keys`),
    statement("DROP TABLE eider_upgraded_keys"),
  ];
}

/** The name of the table, in the default schema of the database. */
function nameOf({ database, type }: RecordTable): string {
  // With the schema where it is known: a schema of the main database may have the same name as the other database.
  const schema = type === "duckdb" || type === "sqlite" ? ".main" : "";
  return `${quoteIdentifier(database)}${schema}.${RECORDS}`;
}
