import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import duckdb from "@duckdb/node-bindings";

/**
 * A folder with DuckDB extensions: `<name>.duckdb_extension`, either directly or, as in `duckdb.extension_directory`, in folders
 * for version and platform. CI fills one from PyPI (`duckdb-extension-<name>`) and sets EIDER_TEST_EXTENSIONS to it.
 */
const given = process.env["EIDER_TEST_EXTENSIONS"];
const VERSION = duckdb.library_version();
export const PLATFORM = platformOf(process.platform, process.arch);

/** The reason why tests that need these extensions cannot run. Undefined if they can. */
export function missingExtensions(...names: readonly string[]): string | undefined {
  if (given === undefined) return "EIDER_TEST_EXTENSIONS names no folder";
  const missing = names.filter((name) => fileOf(name) === undefined);
  return missing.length === 0
    ? undefined
    : `${given} has no ${missing.join(", ")} for DuckDB ${VERSION} on ${PLATFORM}`;
}

/** The path of an extension's file. */
export function extensionFile(name: string): string {
  const file = fileOf(name);
  if (file === undefined) throw new Error(missingExtensions(name));
  return file;
}

let directory: string | undefined;

/** The folder for the setting `extension_directory`, in which `LOAD` finds these extensions without a network. */
export function extensionDirectory(...names: readonly string[]): string {
  const missing = missingExtensions(...names);
  if (missing !== undefined) throw new Error(missing);
  directory ??= makeDirectory();
  for (const name of names) {
    const [from, to] = [fileOf(name), join(directory, VERSION, PLATFORM, fileName(name))];
    if (from !== undefined && !existsSync(to)) symlinkSync(from, to);
  }
  return directory;
}

/** A temporary folder, because DuckDB writes into the folder when it installs an extension. */
function makeDirectory(): string {
  const made = mkdtempSync(join(tmpdir(), "eider-extensions-"));
  mkdirSync(join(made, VERSION, PLATFORM), { recursive: true });
  // Test files in the same process share the folder, so it is deleted when the process exits.
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

function fileOf(name: string): string | undefined {
  if (given === undefined) return undefined;
  const places = [given, join(given, VERSION, PLATFORM), join(given, VERSION)];
  return places.map((place) => resolve(place, fileName(name))).find((file) => existsSync(file));
}

function fileName(name: string): string {
  return `${name}.duckdb_extension`;
}

/** DuckDB's name for a platform. */
function platformOf(system: NodeJS.Platform, processor: string): string {
  const names: Partial<Record<NodeJS.Platform, string>> = { darwin: "osx", win32: "windows" };
  return `${names[system] ?? system}_${processor === "x64" ? "amd64" : processor}`;
}
