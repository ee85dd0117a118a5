import type duckdb from "@duckdb/node-bindings";
import { inspect } from "../plan/inspect.ts";
import { withConnection } from "../session/with-connection.ts";
import { EXTENSION_SETTING, type ExtensionFolder } from "./extension-folder.ts";

const MISSING =
  /failed to (?:download|install|copy)(?: local)? extension "(\w+)"|extension "[^"]*?(\w+)\.duckdb_extension" not found/i;

/** If DuckDB's message means that an extension is missing: which one, where it was looked for, and what to do. Otherwise undefined. */
export async function explainMissingExtension(
  message: string,
  { database, extensions }: { readonly database: duckdb.Database; readonly extensions: ExtensionFolder | undefined },
): Promise<string | undefined> {
  const [, notDownloaded, notFound] = MISSING.exec(message) ?? [];
  const name = notDownloaded ?? notFound;
  if (name === undefined) return undefined;
  // An `init` may have changed the setting.
  const sql = `SELECT current_setting('${EXTENSION_SETTING}')`;
  const [[directory] = []] = await withConnection(database, (connection) => inspect(connection, { sql, values: [] }));
  const folder = directory === extensions?.directory ? extensions?.configuredFolder : directory;
  return folder
    ? `the extension '${name}' is not in ${folder} (duckdb.${EXTENSION_SETTING}) and was not downloaded; put it there`
    : `the extension '${name}' is not in ~/.duckdb/extensions and was not downloaded; put it into a folder and name that in duckdb.${EXTENSION_SETTING}`;
}
