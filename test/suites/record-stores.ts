import { join } from "node:path";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { postgresConnection } from "../postgres-engine.ts";

/** A database that writes change, and that holds the records of their idempotency keys. */
export interface StoreCase {
  readonly name: string;
  /** Why it cannot be tested here. */
  readonly missing: string | undefined;
  /** Whether the embedded engine does not run its SQL. */
  readonly isEngine?: boolean;
  /** Whether several replicas can write to it. */
  readonly shared: boolean;
  /** A main file over a new database; its files lie in the folder. The connection `store` runs `init` first. */
  main(folder: string, init: (prefix: string) => string): Promise<string>;
  /** What stands before the names of tables. */
  readonly prefix: string;
}

/** Every kind of database that can hold records. Call it once per test file: it starts servers for that file. */
export function recordStores(): readonly StoreCase[] {
  const postgres = sharedPostgres();
  const mariaDb = sharedMariaDb();
  const connection = (options: string, init: string): string =>
    `connections:\n  store: { ${options}init: ${JSON.stringify(init)} }\n`;
  const extension = (name: string): string => `duckdb: { extension_directory: '${extensionDirectory(name)}' }\n`;
  return [
    {
      name: "the main database",
      missing: undefined,
      shared: false,
      prefix: "",
      main: async (folder, init) =>
        `duckdb: { db_path: '${join(folder, "main.duckdb")}', checkpoint_threshold: 64KB }\n${connection("", init(""))}`,
    },
    {
      name: "Postgres, as the engine",
      missing: missingPostgres,
      isEngine: true,
      shared: true,
      prefix: "",
      async main(_, init) {
        const server = await postgres();
        const dsn = await server.createDatabase();
        await server.sql(dsn, init(""));
        return postgresConnection(server, dsn).replace("  memory:", "  store:");
      },
    },
    {
      name: "an attached DuckDB file",
      missing: undefined,
      shared: false,
      prefix: "store.",
      main: async (folder, init) =>
        connection(`type: duckdb, path: '${join(folder, "store.duckdb")}', `, init("store.")),
    },
    {
      name: "an attached DuckDB file beside a main database",
      missing: undefined,
      shared: false,
      prefix: "store.",
      main: async (folder, init) =>
        `duckdb: { db_path: '${join(folder, "main.duckdb")}' }\n${connection(`type: duckdb, path: '${join(folder, "store.duckdb")}', `, init("store."))}`,
    },
    {
      name: "SQLite",
      missing: missingExtensions("sqlite_scanner"),
      shared: true,
      prefix: "store.",
      main: async (folder, init) =>
        extension("sqlite_scanner") +
        connection(`type: sqlite, path: '${join(folder, "store.sqlite")}', `, init("store.")),
    },
    {
      name: "Postgres",
      missing: missingPostgres ?? missingExtensions("postgres_scanner"),
      shared: true,
      prefix: "store.",
      async main(_, init) {
        const dsn = await (await postgres()).createDatabase();
        const options = `type: postgres, dsn: ${JSON.stringify(dsn)}, `;
        return extension("postgres_scanner") + connection(options, init("store."));
      },
    },
    {
      name: "MariaDB",
      missing: missingMariaDb ?? missingExtensions("mysql_scanner"),
      shared: true,
      prefix: "store.",
      async main(_, init) {
        const server = await mariaDb();
        const database = await server.createDatabase();
        const options = `type: mysql, host: 127.0.0.1, port: ${server.port}, user: root, database: ${database}, `;
        return extension("mysql_scanner") + connection(options, init("store."));
      },
    },
  ];
}
