import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../failure.ts";
import type { Engine, EngineOptions, StopSignal } from "../engine.ts";
import { type Cancellation, cancellationOf } from "./cancellation.ts";
import { openConnectionPool } from "./connection-pool.ts";
import { duckdbDialect } from "./dialect.ts";
import { failureOf } from "./messages.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { openPlanner } from "./plan.ts";
import { readRows } from "./read.ts";
import { readMemory } from "./read-memory.ts";
import { openSession, type Session } from "./session.ts";
import { openSlots } from "./slots.ts";
import { openSources } from "./sources.ts";

export interface DuckDbOptions extends EngineOptions {
  /** In memory when absent. */
  readonly path: string | undefined;
  /** DuckDB's settings by name. */
  readonly settings: ReadonlyMap<string, string>;
}

/** The embedded engine. Rejects with an EngineOpenError. */
export async function openDuckDb(options: DuckDbOptions): Promise<Engine> {
  return engineOver(await openDatabase(options.path, options.settings), options);
}

const SOURCES_OPENED_AT_ONCE = 4;

/** The engine over a database that is open; it closes it. */
export function engineOver({ database, settings }: OpenDatabase, options: EngineOptions): Engine {
  const slots = openSlots(options.maxConcurrentQueries, options.maxQueued);
  const pool = openConnectionPool({ database, settings, maxIdle: options.maxConcurrentQueries * 2 });
  const sources = openSources({
    database,
    settings,
    definitions: options.connections,
    slots: openSlots(SOURCES_OPENED_AT_ONCE, 0),
    opened: pool.forgetStatements,
  });
  const secrets = options.connections.flatMap((connection) => connection.secrets);
  const planner = openPlanner({ database, settings, secrets });
  const memory = readMemory();
  const active = new Set<Cancellation>();
  let closing: Promise<void> | undefined;

  function cancellable(signal: StopSignal): Cancellation {
    if (closing !== undefined) throw new RequestFailure({ kind: "draining" });
    const cancellation: Cancellation = cancellationOf(signal, () => active.delete(cancellation));
    active.add(cancellation);
    return cancellation;
  }

  async function close(): Promise<void> {
    for (const cancellation of [...active]) cancellation.cancel(new RequestFailure({ kind: "draining" }));
    await sources.stop();
    await planner.close();
    await pool.close();
    // An `init` may hang on a server that does not answer, and nothing can interrupt that: nobody waits for it here.
    if (sources.idle()) duckdb.close_sync(database);
  }

  return {
    dialect: duckdbDialect,
    openConnection: sources.open,
    plan: planner.plan,
    parse: planner.parse,
    async read(read) {
      const definitions = sources.definitionsOf(read.connections);
      const fail = (error: unknown): RequestFailure => failureOf(error, definitions);
      const cancellation = cancellable(read.signal);
      let session: Session | undefined;
      try {
        await sources.openAll(read.connections, cancellation);
        await slots.enter(cancellation);
        session = await openSession(pool, slots, cancellation);
        return await readRows(read, {
          session,
          memory,
          stream: { crowded: () => slots.waiting() > 0, failureOf: fail },
        });
      } catch (error) {
        await session?.end();
        cancellation.end();
        throw fail(error);
      }
    },
    async readIntoFile() {
      throw new RequestFailure({ kind: "not-active", feature: "parquet" });
    },
    activity: () => ({ running: slots.running(), waiting: slots.waiting() }),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
