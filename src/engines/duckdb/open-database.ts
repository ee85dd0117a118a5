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

/** Opens the one database of the process; in memory without a path. Rejects with an EngineOpenError. decisions.md 1. */
export async function openDatabase(
  path: string | undefined,
  options: ReadonlyMap<string, string>,
): Promise<OpenDatabase> {
  const config = duckdb.create_config();
  const later = [...options].filter(([name, value]) => !setAtOpening(config, name, value));
  const database = await duckdb.open(path ?? ":memory:", config).catch((error: unknown) => {
    const message = messageOf(error);
    const named = [...options.keys()].find((name) => message.toLowerCase().includes(name.toLowerCase()));
    throw new EngineOpenError(message, named, { cause: error });
  });
  const settings = sessionSettings();
  const connection = await duckdb.connect(database);
  try {
    for (const [name, value] of later) {
      const sql = `SET ${quoteName(name)} = ${quoteText(value)}`;
      await duckdb.query(connection, sql).catch((error: unknown) => {
        throw new EngineOpenError(messageOf(error), name, { cause: error });
      });
      settings.add(sql, 0);
    }
  } catch (error) {
    duckdb.disconnect_sync(connection);
    duckdb.close_sync(database);
    throw error;
  }
  duckdb.disconnect_sync(connection);
  return { database, settings };
}

/**
 * False for what DuckDB does not take before it is open: settings of a connection or an extension, and wrong values,
 * whose reason it only tells later.
 */
function setAtOpening(config: duckdb.Config, name: string, value: string): boolean {
  if (!flagNames().has(name.toLowerCase())) return false;
  try {
    duckdb.set_config(config, name, value);
    return true;
  } catch {
    return false;
  }
}

function flagNames(): ReadonlySet<string> {
  return new Set(
    Array.from({ length: duckdb.config_count() }, (_, index) => duckdb.get_config_flag(index).name.toLowerCase()),
  );
}
