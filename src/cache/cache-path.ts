import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { errorMessage } from "../error-message.ts";
import { quoteIdentifier, quoteLiteral } from "../sql/quote.ts";
import { statement, textValue } from "../sql/statement.ts";
import { kindOfFile } from "./cache-file.ts";
import { inReadTransaction } from "./store-sql.ts";

/** A table that every cache database has, by backend. */
const MARKER_TABLE = { duckdb: "audit.layout", ducklake: "main.ducklake_metadata" } as const;

/** Why a path cannot be used for a cache: something else is there. Undefined if it can. Changes no file. */
export async function unusablePathMessage(
  engine: EmbeddedEngine,
  path: string,
  backend: keyof typeof MARKER_TABLE,
): Promise<string | undefined> {
  switch (kindOfFile(path)) {
    case "folder":
      return "is a folder; use a file in it, such as cache.duckdb";
    case "sqlite":
      return "is an SQLite database, not a cache; use another file";
    case "duckdb":
      return await foreignDatabaseMessage(engine, path, MARKER_TABLE[backend]);
    case "other":
      return undefined;
  }
}

const PROBE = "eider_cache_probe";

const TABLES = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1";
const VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = $1 AND NOT internal";

/** Undefined if the database is empty or a cache, or if it cannot be opened for any other reason, which opening it later reports. */
async function foreignDatabaseMessage(
  engine: EmbeddedEngine,
  path: string,
  markerTable: string,
): Promise<string | undefined> {
  const probe = quoteIdentifier(PROBE);
  try {
    await engine.attach(PROBE, `ATTACH ${quoteLiteral(path)} AS ${probe} (READ_ONLY, TYPE duckdb)`);
  } catch (error) {
    const message = errorMessage(error);
    if (/already attached|file handle conflict/i.test(message))
      return "is already in use, by duckdb.db_path or a connection; use another file";
    return /encrypt/i.test(message) ? "is an encrypted database, not a cache; use another file" : undefined;
  }
  try {
    const rows = await inReadTransaction(engine, async (run) => [
      ...(await run(statement(TABLES, textValue(PROBE)))),
      ...(await run(statement(VIEWS, textValue(PROBE)))),
    ]);
    const names = rows.map(([schema, table]) => `${schema}.${table}`).sort();
    if (names.length === 0 || names.includes(markerTable)) return undefined;
    return `is a database with other tables (${names[0]}), not a cache; use another file`;
  } catch {
    return undefined;
  } finally {
    // `attach` also runs DETACH.
    await engine.attach(PROBE, `DETACH ${probe}`);
  }
}
