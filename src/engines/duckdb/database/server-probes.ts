import duckdb from "@duckdb/node-bindings";
import type { RequestFailure } from "../../../failure.ts";
import type { Mask } from "../../../secrets.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { ConnectionDefinition, TextRows } from "../../embedded-engine.ts";
import { failureOf } from "../messages.ts";
import { withConnection } from "../session/with-connection.ts";
import { aliasPattern } from "./alias-pattern.ts";

/** Attached database servers. A query that waits for one of them cannot be interrupted, so Eider asks whether it still responds. */
export interface ServerProbes {
  /** Finds the servers that are attached now. */
  findAttached(): Promise<void>;
  isAttached(connection: string): boolean;
  /** Sends a statement to the servers of a connection. Takes no query slot, but a thread until they respond. */
  probe(connection: string): Promise<void>;
  /** Does that for all connections with a server of this type. */
  probeAll(type: ServerType): Promise<void>;
  /** Whether no probe is running. */
  isIdle(): boolean;
}

/** As DuckDB calls them. */
type ServerType = "postgres" | "mysql";

export interface ServerProbesOptions {
  readonly database: duckdb.Database;
  readonly connections: readonly ConnectionDefinition[];
  readonly inspect: (statement: Statement) => Promise<TextRows>;
  readonly mask: Mask;
}

const ATTACHED: Statement = {
  sql: "SELECT database_name, type FROM duckdb_databases() WHERE type IN ('postgres', 'mysql') AND NOT internal",
  values: [],
};

export function openServerProbes(options: ServerProbesOptions): ServerProbes {
  const { database, connections, inspect, mask } = options;
  /** The SQL that asks the servers of a connection. */
  let probes: ReadonlyMap<string, readonly string[]> = new Map();
  let running = 0;

  async function probe(connection: string): Promise<void> {
    running++;
    try {
      await run(connection);
    } catch (error) {
      throw toFailure(error, connection);
    } finally {
      running--;
    }
  }

  async function run(connection: string): Promise<void> {
    const statements = probes.get(connection) ?? [];
    await withConnection(database, async (native) => {
      for (const sql of statements) await duckdb.query(native, sql);
    });
  }

  function toFailure(error: unknown, connection: string): RequestFailure {
    const definitions = connections.filter(({ name }) => name === connection);
    return failureOf(error, { connections: definitions, mask, statement: undefined });
  }

  return {
    async findAttached() {
      // The planner has been closed: the service is stopping.
      const rows = await inspect(ATTACHED).catch((): TextRows => []);
      const found = new Map<string, string[]>();
      for (const [alias, type] of rows) {
        if (alias == null || type == null) continue;
        const pattern = aliasPattern(alias);
        for (const { name, init = "" } of connections) {
          if (!pattern.test(init)) continue;
          const sql = `${probeStart(type)}${quoteLiteral(alias)}, 'SELECT 1')`;
          found.set(name, [...(found.get(name) ?? []), sql]);
        }
      }
      probes = found;
    },
    isAttached: (connection) => probes.has(connection),
    probe,
    async probeAll(type) {
      for (const [connection, statements] of probes)
        if (statements.some((sql) => sql.startsWith(probeStart(type)))) await probe(connection);
    },
    isIdle: () => running === 0,
  };
}

function probeStart(type: string): string {
  return `FROM ${type}_query(`;
}
