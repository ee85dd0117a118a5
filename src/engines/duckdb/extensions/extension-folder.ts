import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import { EngineOpenError } from "../../engine.ts";
import type { LinkFiles } from "../../extensions.ts";
import { inspect } from "../plan/inspect.ts";

/** Where DuckDB looks for extensions. */
export interface ExtensionFolder {
  /** The folder that DuckDB searches: the value of its setting `extension_directory`. */
  readonly directory: string;
  /** The folder that the project configures, for messages. DuckDB may search a temporary folder instead. */
  readonly configuredFolder: string;
  /** If DuckDB searches a temporary folder: the extension file behind each link in it. */
  readonly links: ReadonlyMap<string, string>;
}

export const EXTENSION_SETTING = "extension_directory";

/**
 * DuckDB finds an extension only at `<version>/<platform>/<name>.duckdb_extension`. If a folder has extensions elsewhere too,
 * directly in it or in unpacked PyPI packages, DuckDB searches a temporary folder with links to all of them instead.
 */
export async function openExtensionFolder(
  connection: duckdb.Connection,
  folder: string,
  linkFiles: LinkFiles | undefined,
): Promise<ExtensionFolder> {
  const layout = `${duckdb.library_version()}/${await platformOf(connection)}`;
  const inLayout = await findFiles(connection, folder, layout);
  const elsewhere = [
    ...(await findFiles(connection, folder, "")),
    ...(await findFiles(connection, folder, `duckdb_extension_*/extensions/${duckdb.library_version()}`)),
  ];
  if (elsewhere.length === 0 || linkFiles === undefined) {
    return { directory: folder, configuredFolder: folder, links: new Map() };
  }
  // Reversed, so that the first file counts if an extension exists twice.
  const files = [...inLayout, ...elsewhere].reverse();
  const filesByPath = new Map(files.map((file) => [`${layout}/${fileNameOf(file)}`, file]));
  const directory = await linkFiles(filesByPath).catch((error: unknown) => {
    throw new EngineOpenError(errorMessage(error), EXTENSION_SETTING);
  });
  const links = new Map([...filesByPath].map(([path, file]) => [`${directory}/${path}`, file]));
  return { directory, configuredFolder: folder, links };
}

async function platformOf(connection: duckdb.Connection): Promise<string> {
  const [[platform] = []] = await inspect(connection, { sql: "SELECT platform FROM pragma_platform()", values: [] });
  return platform ?? "";
}

/** The extension files in the subfolders that match `pattern`, or in the folder itself if it is empty. Absolute paths, sorted. */
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
