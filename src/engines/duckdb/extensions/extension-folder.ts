import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import { EngineOpenError } from "../../engine.ts";
import type { LinkFiles } from "../../extensions.ts";
import { inspect } from "../plan/inspect.ts";

/** Where DuckDB looks for extensions. */
export interface ExtensionFolder {
  /** The value of DuckDB's setting `extension_directory`. */
  readonly directory: string;
  /** The folder of the project, which messages name. */
  readonly folder: string;
  /** The files of the project, by the paths at which DuckDB finds them. Empty if DuckDB reads the folder itself. */
  readonly links: ReadonlyMap<string, string>;
}

export const EXTENSION_SETTING = "extension_directory";

/**
 * DuckDB knows one layout: `<version>/<platform>/<name>.duckdb_extension`. If a folder also has extensions directly in it, or in
 * unpacked PyPI packages, DuckDB gets a temporary folder with links to all of them. Otherwise, it uses the folder itself.
 */
export async function openExtensionFolder(
  connection: duckdb.Connection,
  folder: string,
  linkFiles: LinkFiles | undefined,
): Promise<ExtensionFolder> {
  const layout = `${duckdb.library_version()}/${await platformOf(connection)}`;
  const own = await findFiles(connection, folder, layout);
  const others = [
    ...(await findFiles(connection, folder, "")),
    ...(await findFiles(connection, folder, `duckdb_extension_*/extensions/${duckdb.library_version()}`)),
  ];
  if (others.length === 0 || linkFiles === undefined) return { directory: folder, folder, links: new Map() };
  // For an extension that is there twice, the first file counts.
  const byName = new Map([...own, ...others].reverse().map((file) => [`${layout}/${fileNameOf(file)}`, file]));
  const directory = await linkFiles(byName).catch((error: unknown) => {
    throw new EngineOpenError(errorMessage(error), EXTENSION_SETTING);
  });
  return { directory, folder, links: new Map([...byName].map(([path, file]) => [`${directory}/${path}`, file])) };
}

async function platformOf(connection: duckdb.Connection): Promise<string> {
  const [[platform] = []] = await inspect(connection, { sql: "SELECT platform FROM pragma_platform()", values: [] });
  return platform ?? "";
}

/** Absolute paths, sorted. `pattern` may contain wildcards. */
async function findFiles(connection: duckdb.Connection, folder: string, pattern: string): Promise<readonly string[]> {
  const literalFolder = folder.replace(/[*?[]/g, "[$&]").replace(/[\\/]+$/, "");
  const glob = [literalFolder, ...(pattern === "" ? [] : [pattern]), "*.duckdb_extension"].join("/");
  const rows = await inspect(connection, {
    sql: `SELECT file FROM glob(${quoteLiteral(glob)}) ORDER BY 1`,
    values: [],
  });
  return rows.flatMap(([file]) => file ?? []);
}

function fileNameOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
