import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { EngineOpenError } from "../../engine.ts";
import { inspect } from "../plan/inspect.ts";
import type { SessionSettings } from "../session/session-settings.ts";

/** Settings that change how names resolve. A project that sets them opens its database directly. */
const CHANGES_NAME_LOOKUP: ReadonlySet<string> = new Set(["search_path", "schema"]);
/** Names of catalogs that every database has. */
const RESERVED_CATALOGS: ReadonlySet<string> = new Set(["memory", "temp", "system"]);

/**
 * Whether a read-only database can be attached to one in memory instead of being opened itself. Its file can then be
 * replaced while it is served, which DuckDB allows for all databases but the first one.
 */
export function isReplaceable(path: string, options: ReadonlyMap<string, string>): boolean {
  const names = [...options].map(([name, value]) => [name.toLowerCase(), value.toLowerCase()] as const);
  const stem = path.replace(/^.*[\\/]/, "").replace(/\..*$/, "");
  return (
    names.some(([name, value]) => name === "access_mode" && value === "read_only") &&
    !names.some(([name]) => CHANGES_NAME_LOOKUP.has(name)) &&
    !RESERVED_CATALOGS.has(stem.toLowerCase())
  );
}

/** Attaches the database and puts it first in the search path of every connection. Returns the names of all catalogs. */
export async function attachMain(
  connection: duckdb.Connection,
  path: string,
  settings: SessionSettings,
): Promise<readonly string[]> {
  await duckdb.query(connection, `ATTACH ${quoteLiteral(path)} (TYPE duckdb, READ_ONLY)`).catch((error: unknown) => {
    throw new EngineOpenError(errorMessage(error), undefined, { cause: error });
  });
  const sql = "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY path IS NULL ASC NULLS LAST";
  const catalogs = (await inspect(connection, { sql, values: [] })).flatMap(([name]) => name ?? []);
  const schemas = catalogs.map((name) => `${quoteIdentifier(name)}.main`);
  // What an `init` creates (such as a view of a Parquet file) is created in memory, and is found there.
  settings.add(`SET search_path = ${quoteLiteral(schemas.join(","))}`, 0);
  // Lets Eider attach a replacement of the file even if external access is off.
  const allowed = `list_append(current_setting('allowed_paths'), ${quoteLiteral(path)})`;
  await duckdb.query(connection, `SET GLOBAL allowed_paths = ${allowed}`).catch(() => {});
  return catalogs;
}
