import duckdb from "@duckdb/node-bindings";
import { type Lru, openLru } from "../../../bounded/lru.ts";
import type { Eventually } from "../../../eventually.ts";
import { RequestFailure } from "../../../failure.ts";
import type { DataVersions } from "./data-versions.ts";
import type { SessionSettings } from "./session-settings.ts";

/** A DuckDB connection, for one query at a time, with its prepared statements. */
export interface PooledConnection {
  readonly native: duckdb.Connection;
  /** By SQL. DuckDB rebinds them itself when tables or files change. */
  readonly statements: Lru<duckdb.PreparedStatement>;
}

export interface ConnectionPool {
  readonly versions: DataVersions;
  take(): Eventually<PooledConnection>;
  /** Returns a connection to the pool. It must have no open transaction. */
  giveBack(connection: PooledConnection): void;
  /** Takes back a connection that must not be used again. */
  discard(connection: PooledConnection): void;
  /**
   * Drops every prepared statement, or those that mention one of these names (in lower case): needed after DDL, because DuckDB
   * does not notice when a view or macro is replaced.
   */
  invalidateStatements(names?: readonly string[]): void;
  /** Drops the prepared statements of the idle connections at once. */
  dropIdleStatements(): void;
  /** Waits for all connections to come back and closes them. */
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly versions: DataVersions;
  readonly database: duckdb.Database;
  readonly settings: SessionSettings;
  readonly maxIdle: number;
  /** SQL that creates the macros. Runs on every new connection. */
  readonly macros: string;
}

const MIB = 1024 * 1024;
/** The estimated memory that prepared statements may take on all connections together. */
const MAX_TOTAL_STATEMENT_BYTES = 512 * MIB;
/** Room for about 64 to 256 statements per connection. */
const MIN_BYTES_PER_CONNECTION = 4 * MIB;
const MAX_BYTES_PER_CONNECTION = 16 * MIB;
/** The size assumed for every prepared statement. Actual sizes: 10 KiB (a lookup) to 170 KiB (an aggregation over a join). */
const ASSUMED_STATEMENT_BYTES = 64 * 1024;
/** A connection that has missed more invalidations than this drops all statements. */
const MAX_INVALIDATIONS = 100;

interface Connection extends PooledConnection {
  appliedSettings: number;
  generation: number;
}

export function openConnectionPool({ database, settings, versions, maxIdle, macros }: PoolOptions): ConnectionPool {
  // The last used is taken first, since its statements are the most recent.
  const idle: Connection[] = [];
  const lent = new Set<PooledConnection>();
  /** Invalidated names, in order. Connections catch up when they are taken. */
  let invalidated: (readonly string[] | "all")[] = [];
  let generation = 0;
  /** How many connections are being opened. */
  let opening = 0;
  let resolveClose: (() => void) | undefined;
  const maxBytes = Math.min(
    MAX_BYTES_PER_CONNECTION,
    Math.max(MIN_BYTES_PER_CONNECTION, MAX_TOTAL_STATEMENT_BYTES / maxIdle),
  );

  /** The new connection counts as lent. */
  async function connect(): Promise<Connection> {
    // A connection to a closed database crashes the process.
    if (resolveClose !== undefined) throw new RequestFailure({ kind: "draining" });
    opening++;
    try {
      const connection = await openConnection();
      lent.add(connection);
      return connection;
    } finally {
      opening--;
      resolveIfIdle();
    }
  }

  async function openConnection(): Promise<Connection> {
    const native = await duckdb.connect(database);
    try {
      await duckdb.query(native, macros);
    } catch (error) {
      duckdb.disconnect_sync(native);
      throw error;
    }
    const statements = openLru<duckdb.PreparedStatement>({
      maxBytes,
      bytesOf: () => ASSUMED_STATEMENT_BYTES,
      onRemove: duckdb.destroy_prepare_sync,
    });
    return { native, statements, appliedSettings: 0, generation };
  }

  function catchUp(connection: Connection): void {
    const missed = generation - connection.generation;
    if (missed === 0) return;
    connection.generation = generation;
    const names = missed > invalidated.length ? "all" : namesIn(invalidated.slice(invalidated.length - missed));
    if (names === "all") connection.statements.clear();
    else connection.statements.deleteWhere((sql) => mentions(sql, names));
  }

  function lend(connection: Connection): void {
    lent.add(connection);
    catchUp(connection);
  }

  async function prepareToLend(found: Connection | undefined): Promise<Connection> {
    const connection = found ?? (await connect());
    lend(connection);
    if (connection.appliedSettings !== settings.count()) {
      connection.appliedSettings = await settings.apply(connection.native, connection.appliedSettings);
    }
    return connection;
  }

  function disconnect(connection: PooledConnection): void {
    connection.statements.clear();
    duckdb.disconnect_sync(connection.native);
  }

  function removeLent(connection: PooledConnection): void {
    lent.delete(connection);
    resolveIfIdle();
  }

  function resolveIfIdle(): void {
    if (lent.size === 0 && opening === 0) resolveClose?.();
  }

  return {
    versions,
    take() {
      const connection = idle.pop();
      if (connection?.appliedSettings !== settings.count()) return prepareToLend(connection);
      lend(connection);
      return connection;
    },
    giveBack(connection) {
      // The cast is safe: every connection comes from this pool.
      if (resolveClose === undefined && idle.length < maxIdle) idle.push(connection as Connection);
      else disconnect(connection);
      removeLent(connection);
    },
    discard(connection) {
      disconnect(connection);
      removeLent(connection);
    },
    invalidateStatements(names = undefined) {
      generation++;
      invalidated = [...invalidated.slice(-MAX_INVALIDATIONS), names ?? "all"];
    },
    dropIdleStatements() {
      for (const { statements } of idle) statements.clear();
    },
    async close() {
      await new Promise<void>((resolve) => {
        resolveClose = resolve;
        resolveIfIdle();
      });
      for (const connection of idle.splice(0)) disconnect(connection);
    },
  };
}

function namesIn(invalidated: readonly (readonly string[] | "all")[]): readonly string[] | "all" {
  const names = new Set<string>();
  for (const each of invalidated) {
    if (each === "all") return "all";
    for (const name of each) names.add(name);
  }
  return [...names];
}

/** Whether a statement may refer to one of these names. */
export function mentions(sql: string, names: readonly string[]): boolean {
  const text = sql.toLowerCase();
  return names.some((name) => text.includes(name));
}
