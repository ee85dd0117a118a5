import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import duckdb from "@duckdb/node-bindings";

/**
 * A folder with extensions of DuckDB: `<name>.duckdb_extension`, or as `duckdb.extension_directory` has them, below the
 * version and the platform. CI fills one from PyPI (`duckdb-extension-<name>`) and names it in EIDER_TEST_EXTENSIONS.
 */
const given = process.env["EIDER_TEST_EXTENSIONS"];
const VERSION = duckdb.library_version();
const PLATFORM = platformOf(process.platform, process.arch);

/** Why tests that need these extensions cannot run; undefined when they can. */
export function missingExtensions(...names: readonly string[]): string | undefined {
  if (given === undefined) return "EIDER_TEST_EXTENSIONS names no folder";
  const missing = names.filter((name) => fileOf(name) === undefined);
  return missing.length === 0
    ? undefined
    : `${given} has no ${missing.join(", ")} for DuckDB ${VERSION} on ${PLATFORM}`;
}

let directory: string | undefined;

/** The folder for the setting `extension_directory`: with it `LOAD` finds these extensions, without a network. */
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

/** DuckDB writes beside its extensions when it installs: what was given stays as it is. */
function makeDirectory(): string {
  const made = mkdtempSync(join(tmpdir(), "eider-extensions-"));
  mkdirSync(join(made, VERSION, PLATFORM), { recursive: true });
  // Test files that run in the same process share it.
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

/** As DuckDB calls it. */
function platformOf(system: NodeJS.Platform, processor: string): string {
  const names: Partial<Record<NodeJS.Platform, string>> = { darwin: "osx", win32: "windows" };
  return `${names[system] ?? system}_${processor === "x64" ? "amd64" : processor}`;
}
