import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { isCredentialName, messageMask } from "../../../secrets.ts";
import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import type { OpenOptions } from "../../embedded-engine.ts";
import { EngineOpenError } from "../../engine.ts";
import { EXTENSION_SETTING, type ExtensionFolder, openExtensionFolder } from "../extensions/extension-folder.ts";
import { inspect } from "../plan/inspect.ts";
import { type DataVersions, dataVersions } from "../session/data-versions.ts";
import { changesMeaning, type SessionSettings, sessionSettings } from "../session/session-settings.ts";
import { attachMain, isReplaceable } from "./read-only-main.ts";

export interface OpenDatabase {
  readonly database: duckdb.Database;
  /** Settings that each connection must apply itself. */
  readonly settings: SessionSettings;
  /** The names of its catalogs. */
  readonly catalogs: readonly string[];
  /** Whether it is a file, and may hold what an earlier process created. */
  readonly isFile: boolean;
  readonly versions: DataVersions;
  /** The settings that it was opened with, by their names in lower case. */
  readonly configured: ReadonlyMap<string, string>;
  /** Undefined if the project names no folder of extensions. */
  readonly extensions: ExtensionFolder | undefined;
}

/** Settings that DuckDB accepts only while it opens. Others are applied later, because DuckDB then explains invalid values. */
const AT_OPENING: ReadonlySet<string> = new Set([
  "access_mode",
  "allow_community_extensions",
  "allow_unsigned_extensions",
  "custom_user_agent",
  "disable_database_invalidation",
  "duckdb_api",
  "enable_external_access",
  "vacuum_rebuild_indexes",
]);

/** Opens the one database of the process; in memory without a path. Rejects with an EngineOpenError. */
export async function openDatabase(
  path: string | undefined,
  options: ReadonlyMap<string, string>,
  { fileFolder, linkFiles }: Pick<OpenOptions, "fileFolder" | "linkFiles"> = {},
): Promise<OpenDatabase> {
  const attachedPath = path !== undefined && isReplaceable(path, options) ? path : undefined;
  const file = attachedPath === undefined && path !== undefined ? path : ":memory:";
  const config = configOf(attachedPath === undefined ? options : withoutAccessMode(options));
  const database = await duckdb.open(file, config).catch((error: unknown) => {
    throw new EngineOpenError(errorMessage(error), undefined, { cause: error });
  });
  const connection = await duckdb.connect(database);
  try {
    const settings = sessionSettings();
    const catalogs =
      attachedPath === undefined
        ? await currentCatalog(connection)
        : await attachMain(connection, attachedPath, settings);
    const [ordinary, restricting] = splitSettings(options);
    const configured = namedInLowerCase(options);
    const folder = configured.get(EXTENSION_SETTING);
    const extensions = folder ? await openExtensionFolder(connection, folder, linkFiles) : undefined;
    for (const setting of ordinary) await applySetting(connection, setting, settings);
    if (extensions !== undefined) await applySetting(connection, [EXTENSION_SETTING, extensions.directory], settings);
    if (fileFolder !== undefined) await allowFolder(connection, fileFolder);
    await disableAutoinstallIfLocked(connection, options);
    await allowSessionSettings(connection, options);
    for (const setting of restricting) await applySetting(connection, setting, settings);
    duckdb.disconnect_sync(connection);
    const isFile = path !== undefined;
    return { database, settings, catalogs, isFile, versions: dataVersions(), configured, extensions };
  } catch (error) {
    duckdb.disconnect_sync(connection);
    duckdb.close_sync(database);
    throw error;
  }
}

async function currentCatalog(connection: duckdb.Connection): Promise<readonly string[]> {
  const [[catalog] = []] = await inspect(connection, { sql: "SELECT current_database()", values: [] });
  return [catalog ?? ""];
}

/** ATTACH sets it instead. */
function withoutAccessMode(options: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...options].filter(([name]) => name.toLowerCase() !== "access_mode"));
}

function configOf(options: ReadonlyMap<string, string>): duckdb.Config {
  const config = duckdb.create_config();
  for (const [name, value] of options) {
    if (!isSetAtOpening(name, value)) continue;
    try {
      duckdb.set_config(config, name, value);
    } catch (error) {
      const shown = isCredentialName(name) ? "this" : `'${value}'`;
      throw new EngineOpenError(`${shown} is not a value of ${name}`, name, { cause: error });
    }
  }
  return config;
}

/** These come last: without external access no folder can be allowed, and after `lock_configuration` nothing can be set. */
const RESTRICTING: readonly string[] = ["enable_external_access", "lock_configuration"];

type Settings = readonly (readonly [name: string, value: string])[];

/** External access can be switched on only at opening, and off at any time. */
function isSetAtOpening(name: string, value: string): boolean {
  const setting = name.toLowerCase();
  return AT_OPENING.has(setting) && !(setting === "enable_external_access" && value.toLowerCase() === "false");
}

/** Splits the settings into those to apply first, and those that restrict later changes. */
function splitSettings(options: ReadonlyMap<string, string>): readonly [ordinary: Settings, restricting: Settings] {
  const rank = ([name]: Settings[number]): number => RESTRICTING.indexOf(name.toLowerCase());
  const later = [...options].filter(([name, value]) => !isSetAtOpening(name, value));
  const restricting = later.filter((setting) => rank(setting) >= 0).sort((a, b) => rank(a) - rank(b));
  return [later.filter((setting) => rank(setting) < 0), restricting];
}

/** Allows a folder in addition to those that the project allows. This matters only if external access is off. */
async function allowFolder(connection: duckdb.Connection, folder: string): Promise<void> {
  const allowed = "current_setting('allowed_directories')";
  const sql = `SET GLOBAL allowed_directories = list_append(${allowed}, ${quoteLiteral(folder)})`;
  // Only Parquet responses need it, and these report the error.
  await duckdb.query(connection, sql).catch(() => {});
}

function namedInLowerCase(options: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...options].map(([name, value]) => [name.toLowerCase(), value]));
}

/** If the project itself locks the settings, this one is locked too: extensions then need an explicit INSTALL. */
async function disableAutoinstallIfLocked(
  connection: duckdb.Connection,
  options: ReadonlyMap<string, string>,
): Promise<void> {
  const configured = namedInLowerCase(options);
  if (configured.get("lock_configuration") !== "true" || configured.has("autoinstall_known_extensions")) return;
  await duckdb.query(connection, "SET GLOBAL autoinstall_known_extensions = false");
}

/** If the project locks the settings, Eider must still be able to apply those that it sets on each connection. */
async function allowSessionSettings(
  connection: duckdb.Connection,
  options: ReadonlyMap<string, string>,
): Promise<void> {
  if (namedInLowerCase(options).get("lock_configuration") !== "true") return;
  for (const name of [...options.keys()].filter(changesMeaning)) {
    const allowed = `list_append(current_setting('allowed_configs'), ${quoteLiteral(name.toLowerCase())})`;
    await duckdb.query(connection, `SET GLOBAL allowed_configs = ${allowed}`);
  }
}

async function applySetting(
  connection: duckdb.Connection,
  [name, value]: Settings[number],
  settings: SessionSettings,
): Promise<void> {
  const assignment = `${quoteIdentifier(name)} = ${quoteLiteral(value)}`;
  const setOrThrow = (sql: string): Promise<unknown> =>
    duckdb.query(connection, sql).catch((error: unknown) => {
      const mask = messageMask(isCredentialName(name) ? [value] : []);
      throw new EngineOpenError(mask(errorMessage(error)), name);
    });
  if (changesMeaning(name)) {
    await setOrThrow(`SET SESSION ${assignment}`);
    settings.addProjectSetting(`SET SESSION ${assignment}`);
    return;
  }
  try {
    await duckdb.query(connection, `SET GLOBAL ${assignment}`);
  } catch {
    // Some settings belong to a connection, such as search_path.
    await setOrThrow(`SET ${assignment}`);
    settings.add(`SET ${assignment}`, 0);
  }
}
