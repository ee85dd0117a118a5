import duckdb from "@duckdb/node-bindings";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { ConnectionDefinition } from "../../embedded-engine.ts";
import { inspect } from "../plan/inspect.ts";

export interface ServerSettingsOptions {
  readonly definitions: readonly ConnectionDefinition[];
  readonly maxConcurrentQueries: number;
}

/** Settings of DuckDB's extensions for database servers, unless an `init` sets them itself. See docs/decisions/0030-database-servers.md. */
export interface ServerSettings {
  /** Call it before a statement that attaches a database: some settings only affect databases that are attached later. */
  apply(connection: duckdb.Connection, sql: string): Promise<void>;
  /** The names of the settings that `apply` may change. */
  readonly names: readonly string[];
}

/** A query that ends gives its session back just after the next one has started. */
const SESSIONS_PER_QUERY = 2;

interface Server {
  /** In the statement that attaches one. */
  readonly pattern: RegExp;
  readonly extension: string;
  readonly settings: Readonly<Record<string, string>>;
}

export function openServerSettings({ definitions, maxConcurrentQueries }: ServerSettingsOptions): ServerSettings {
  const sessions = String(maxConcurrentQueries * SESSIONS_PER_QUERY);
  const servers: readonly Server[] = [
    {
      pattern: /postgres/i,
      extension: "postgres_scanner",
      // One statement for each table, instead of one for every 1,000 of its pages.
      settings: { pg_pool_max_connections: sessions, pg_pages_per_task: "1000000000" },
    },
    { pattern: /mysql/i, extension: "mysql_scanner", settings: { mysql_pool_size: sessions } },
  ];
  const inits = definitions.map(({ init = "" }) => init.toLowerCase());
  const isSetByInit = (name: string): boolean => inits.some((init) => init.includes(name));
  const used = servers.filter(({ pattern }) => inits.some((init) => pattern.test(init)));
  const applied = new Set<Server>();

  /** Those that this version of the extension has, and that no `init` sets. */
  async function unsetSettings(connection: duckdb.Connection, { settings }: Server): Promise<readonly string[]> {
    const names = Object.keys(settings).map(quoteLiteral).join(", ");
    const found = await inspect(connection, {
      sql: `SELECT name FROM duckdb_settings() WHERE name IN (${names})`,
      values: [],
    });
    return found.flatMap(([name]) => (name == null || isSetByInit(name) ? [] : name));
  }

  return {
    names: used.flatMap(({ settings }) => Object.keys(settings)),
    async apply(connection, sql) {
      for (const server of servers) {
        if (applied.has(server) || !server.pattern.test(sql)) continue;
        // ATTACH would load it too, but only after it has read the settings. If this fails, ATTACH reports why.
        const isLoaded = await duckdb.query(connection, `LOAD ${server.extension}`).then(
          () => true,
          () => false,
        );
        if (!isLoaded) continue;
        for (const name of await unsetSettings(connection, server))
          await duckdb.query(connection, `SET GLOBAL ${name} = ${quoteLiteral(server.settings[name] ?? "")}`);
        applied.add(server);
      }
    },
  };
}
