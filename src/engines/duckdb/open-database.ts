import duckdb from "@duckdb/node-bindings";
import { EngineOpenError } from "../engine.ts";
import { messageOf } from "./messages.ts";
import { type SessionSettings, sessionSettings } from "./session-settings.ts";
import { quoteName, quoteText } from "./sql-text.ts";

export interface OpenDatabase {
  readonly database: duckdb.Database;
  /** Settings that each connection must make for itself. */
  readonly settings: SessionSettings;
}

/** What DuckDB takes only while it opens. All else is set afterwards, when it tells what is wrong with a value. */
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

/** Opens the one database of the process; in memory without a path. Rejects with an EngineOpenError. decisions.md 1. */
export async function openDatabase(
  path: string | undefined,
  options: ReadonlyMap<string, string>,
): Promise<OpenDatabase> {
  const database = await duckdb.open(path ?? ":memory:", configOf(options)).catch((error: unknown) => {
    throw new EngineOpenError(messageOf(error), undefined, { cause: error });
  });
  const connection = await duckdb.connect(database);
  try {
    const settings = sessionSettings();
    for (const [name, value] of inOrder(options)) await applySetting(connection, { name, value }, settings);
    duckdb.disconnect_sync(connection);
    return { database, settings };
  } catch (error) {
    duckdb.disconnect_sync(connection);
    duckdb.close_sync(database);
    throw error;
  }
}

function configOf(options: ReadonlyMap<string, string>): duckdb.Config {
  const config = duckdb.create_config();
  for (const [name, value] of options) {
    if (!AT_OPENING.has(name.toLowerCase())) continue;
    try {
      duckdb.set_config(config, name, value);
    } catch (error) {
      throw new EngineOpenError(`'${value}' is not a value of ${name}`, name, { cause: error });
    }
  }
  return config;
}

/** After `lock_configuration` nothing more can be set. */
function inOrder(options: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  const later = [...options].filter(([name]) => !AT_OPENING.has(name.toLowerCase()));
  const locks = ([name]: readonly [string, string]): number => Number(name.toLowerCase() === "lock_configuration");
  return later.sort((a, b) => locks(a) - locks(b));
}

interface Setting {
  readonly name: string;
  readonly value: string;
}

async function applySetting(
  connection: duckdb.Connection,
  { name, value }: Setting,
  settings: SessionSettings,
): Promise<void> {
  const assignment = `${quoteName(name)} = ${quoteText(value)}`;
  try {
    await duckdb.query(connection, `SET GLOBAL ${assignment}`);
  } catch {
    // Some settings belong to a connection, such as search_path.
    await duckdb.query(connection, `SET ${assignment}`).catch((error: unknown) => {
      throw new EngineOpenError(messageOf(error), name, { cause: error });
    });
    settings.add(`SET ${assignment}`, 0);
  }
}
