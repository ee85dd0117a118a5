import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../failure.ts";
import { type Engine, EngineOpenError, type EngineOptions, type Read, type Rows, type StopSignal } from "../engine.ts";
import { type Cancellation, cancellationOf } from "./cancellation.ts";
import { runChange } from "./change.ts";
import { openConnectionPool } from "./connection-pool.ts";
import { dependencyFinder } from "./dependencies.ts";
import { duckdbDialect } from "./dialect.ts";
import { failureOf, messageOf } from "./messages.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { openPlanner } from "./plan.ts";
import { readRows, willBeHeld } from "./read.ts";
import { readIntoFile } from "./read-into-file.ts";
import { readMemory } from "./read-memory.ts";
import { rememberedTotals } from "./remembered-totals.ts";
import { openSession, type Session } from "./session.ts";
import { openSharedReads } from "./shared-reads.ts";
import { openSlots } from "./slots.ts";
import { openSources } from "./sources.ts";
import { statementKey } from "./statement-key.ts";
import { runWrite } from "./write.ts";
import { openWriteLanes } from "./write-lanes.ts";

export interface DuckDbOptions extends EngineOptions {
  /** In memory when absent. */
  readonly path: string | undefined;
  /** DuckDB's settings by name. */
  readonly settings: ReadonlyMap<string, string>;
  readonly fileFolder?: string | undefined;
}

/** The embedded engine. Rejects with an EngineOpenError. */
export async function openDuckDb(options: DuckDbOptions): Promise<Engine> {
  return engineOver(await openDatabase(options.path, options.settings, options.fileFolder), options);
}

const SOURCES_OPENED_AT_ONCE = 4;
/** Whoever could share waits no longer than this to learn whether it may. */
const SHARING_PATIENCE_MS = 1_000;

/** The engine over a database that is open; it closes it. */
export function engineOver({ database, settings, catalog, versions }: OpenDatabase, options: EngineOptions): Engine {
  const slots = openSlots(options.maxConcurrentQueries, options.maxQueued);
  const pool = openConnectionPool({ database, settings, versions, maxIdle: options.maxConcurrentQueries * 2 });
  const sources = openSources({
    database,
    settings,
    definitions: options.connections,
    slots: openSlots(SOURCES_OPENED_AT_ONCE, 0),
    opening: changeEverything,
  });
  const secrets = options.connections.flatMap((connection) => connection.secrets);
  const planner = openPlanner({ database, settings, secrets });
  const memory = readMemory();
  const catalogs = new Set([catalog]);
  const dependencies = dependencyFinder({ inspect: planner.inspect, catalogs });
  const totals = rememberedTotals(versions, dependencies);
  const sharedReads = openSharedReads();
  const lanes = openWriteLanes();
  const active = new Set<Cancellation>();
  let closing: Promise<void> | undefined;

  /** An `init` may make and change tables, views and macros. */
  function changeEverything(): () => void {
    const written = versions.writing("all");
    return () => {
      written();
      namesChanged();
    };
  }

  function namesChanged(names?: readonly string[]): void {
    pool.forgetStatements(names);
    dependencies.forget(names);
  }

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

  /** Opens the sources, waits for a slot, and works. Who does the work ends the session; a failure ends it here. */
  async function inSession<T>(
    { connections, signal }: Pick<Read, "connections" | "signal">,
    work: (session: Session, fail: (error: unknown) => RequestFailure) => Promise<T>,
  ): Promise<T> {
    const definitions = sources.definitionsOf(connections);
    const fail = (error: unknown): RequestFailure => failureOf(error, definitions);
    const cancellation = cancellable(signal);
    let session: Session | undefined;
    try {
      await sources.openAll(connections, cancellation);
      await slots.enter(cancellation);
      session = await openSession(pool, slots, cancellation);
      return await work(session, fail);
    } catch (error) {
      await session?.end();
      cancellation.end();
      throw fail(error);
    }
  }

  function runRead(read: Read): Promise<Rows> {
    return inSession(read, (session, failed) => {
      const moment = versions.now();
      return readRows(read, {
        session,
        memory,
        totals,
        watch: () => watch(read, moment),
        sibling: () => (slots.tryEnter() ? openSession(pool, slots, cancellable(read.signal)) : undefined),
        stream: { crowded: () => slots.waiting() > 0, failureOf: failed },
      });
    });
  }

  async function watch({ statements, totalOf }: Read, moment: number): Promise<(() => boolean) | undefined> {
    // What others left behind on the connection (temporary tables, variables) is not seen from here.
    if (statements.length > 1) return undefined;
    const tables: string[] = [];
    for (const statement of new Set([...statements, ...(totalOf ?? [])])) {
      const found = await dependencies.of(statement);
      if (found.tables === undefined) return undefined;
      tables.push(...found.tables);
    }
    return () => versions.unchangedSince(moment, tables);
  }

  return {
    dialect: duckdbDialect,
    openConnection: sources.open,
    plan: planner.plan,
    describe: planner.describe,
    parse: planner.parse,
    read(read) {
      const [only, ...others] = read.statements;
      if (only === undefined || others.length > 0 || !willBeHeld(read, memory)) return runRead(read);
      return sharedReads.read(readKey(read, versions.now()), {
        signal: read.signal,
        mayShare: () => soon(dependencies.of(only).then(({ shareable }) => shareable)),
        run: (signal) => runRead({ ...read, signal }),
      });
    },
    write: (change) => inSession(change, (session) => runWrite(change, { session, versions, lanes, namesChanged })),
    async change(change, work) {
      const settled = await inSession(change, (session, failed) =>
        runChange(change, work, { session, versions, lanes, namesChanged, failureOf: failed }),
      );
      return settled();
    },
    async attach(alias, sql) {
      const written = changeEverything();
      const connection = await duckdb.connect(database);
      try {
        await duckdb.query(connection, sql);
        catalogs.add(alias);
      } catch (error) {
        throw new EngineOpenError(messageOf(error), undefined, { cause: error });
      } finally {
        duckdb.disconnect_sync(connection);
        written();
      }
    },
    readIntoFile: (read, file) =>
      inSession(read, async (session) => {
        const written = await readIntoFile(read, file, { session, memory });
        await session.end();
        return written;
      }),
    activity: () => ({ running: slots.running(), waiting: slots.waiting() }),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Tells reads apart that would not give the same rows. What is read after a write never joins what began before it. */
function readKey({ connections, statements, window, totalOf }: Read, moment: number): string {
  let key = `${moment}\0${connections.join("\0")}\0${window?.limit}\0${window?.offset}`;
  for (const statement of statements) key += `\0\0${statementKey(statement)}`;
  if (totalOf === statements) return `${key}\0\0total`;
  for (const statement of totalOf ?? []) key += `\0\0${statementKey(statement)}`;
  return key;
}

/** The answer, or no when it takes too long. */
function soon(answer: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), SHARING_PATIENCE_MS);
    void answer.then((known) => {
      clearTimeout(timer);
      resolve(known);
    });
  });
}
