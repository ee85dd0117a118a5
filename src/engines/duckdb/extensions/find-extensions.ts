import duckdb from "@duckdb/node-bindings";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import { withTimeLimit } from "../../../time-limit.ts";
import type { ExtensionOptions, ExtensionPlace, NeededExtension } from "../../extensions.ts";
import { openDatabase } from "../database/open-database.ts";
import { inspect } from "../plan/inspect.ts";

/** How long the download of one extension may take. */
const DOWNLOAD_TIMEOUT_MS = 60_000;

/** These would keep Eider from looking, or need a file of the service. */
const NOT_FOR_SEARCH =
  /^(?:access_mode|enable_external_access|lock_configuration|temp_directory|threads|worker_threads|external_threads)$/i;

/**
 * Where DuckDB would get each extension from, in the same order. It downloads those that are not there into a temporary folder,
 * because nothing else shows whether it could. Rejects with an EngineOpenError.
 */
export async function findExtensions(
  needed: readonly NeededExtension[],
  { settings, linkFiles }: ExtensionOptions,
): Promise<readonly ExtensionPlace[]> {
  const searched = new Map([...settings].filter(([name]) => !NOT_FOR_SEARCH.test(name)));
  const { database, extensions } = await openDatabase(undefined, searched, { linkFiles });
  const connection = await duckdb.connect(database);
  let isBusy = false;

  async function canDownload({ name, repository }: NeededExtension): Promise<boolean> {
    const installing = duckdb.query(connection, installSql(name, repository)).then(
      () => true,
      () => false,
    );
    return await withTimeLimit(installing, DOWNLOAD_TIMEOUT_MS, () => {
      isBusy = true;
      return false;
    });
  }

  try {
    const installed = await installedFiles(connection);
    const places: ExtensionPlace[] = [];
    await duckdb.query(connection, `SET GLOBAL extension_directory = ${quoteLiteral(await linkFiles(new Map()))}`);
    for (const extension of needed) {
      const path = installed.get(extension.name);
      if (path === BUILT_IN) places.push({ kind: "built-in" });
      else if (path !== undefined) {
        const kind = extensions === undefined ? "default-folder" : "extension-directory";
        places.push({ kind, path: extensions?.links.get(path) ?? path });
      } else places.push({ kind: !isBusy && (await canDownload(extension)) ? "download" : "missing" });
    }
    return places;
  } finally {
    // A download cannot be interrupted. The process ends without it.
    if (!isBusy) {
      duckdb.disconnect_sync(connection);
      duckdb.close_sync(database);
    }
  }
}

const BUILT_IN = "(BUILT-IN)";

async function installedFiles(connection: duckdb.Connection): Promise<ReadonlyMap<string, string>> {
  const sql = "SELECT extension_name, install_path FROM duckdb_extensions() WHERE installed";
  const rows = await inspect(connection, { sql, values: [] });
  return new Map(rows.map(([name, path]) => [name ?? "", path ?? ""]));
}

/** A repository is a name, or a quoted path or URL. */
function installSql(name: string, repository: string | undefined): string {
  const from = repository === undefined || /^\w+$/.test(repository) ? repository : quoteLiteral(repository);
  return `INSTALL ${quoteIdentifier(name)}${from === undefined ? "" : ` FROM ${from}`}`;
}
