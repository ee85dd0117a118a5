import duckdb from "@duckdb/node-bindings";
import { errorMessage, explained } from "../../error-message.ts";
import { RequestFailure } from "../../failure.ts";
import { isCredentialName, messageMask } from "../../secrets.ts";
import type { EmbeddedEngine, EngineOptions, OpenOptions } from "../embedded-engine.ts";
import { EngineOpenError, type Read, type StopSignal, type Write } from "../engine.ts";
import { type Cancellation, cancellationOf } from "../queue/cancellation.ts";
import { openSlots } from "../queue/slots.ts";
import type { Rows, WriteResult } from "../rows.ts";
import { configurationLock } from "./database/configuration-lock.ts";
import { withDefaults } from "./database/default-settings.ts";
import { attachOrCopy, openOrCopy } from "./database/locked-files.ts";
import { memoryOf } from "./database/memory-use.ts";
import { openDuckDbConnections } from "./database/open-connections.ts";
import { type OpenDatabase, openDatabase } from "./database/open-database.ts";
import { openReplacedFiles } from "./database/replaced-files.ts";
import { openServerCatalogs } from "./database/server-catalogs.ts";
import { openServerProbes } from "./database/server-probes.ts";
import { openServerSettings } from "./database/server-settings.ts";
import { openSqliteFiles } from "./database/sqlite-files.ts";
import { duckdbDialect } from "./dialect.ts";
import { openExplanations } from "./explanation.ts";
import { explainMissingExtension } from "./extensions/missing-extension.ts";
import { findUserFunctions } from "./functions/user-functions.ts";
import { withoutSql } from "./messages.ts";
import { ATTACH_ASSUMED } from "./plan/assumed-tables.ts";
import { openDatabases } from "./plan/databases.ts";
import { dependencyFinder } from "./plan/dependencies.ts";
import { explain } from "./plan/explain.ts";
import { openPlanner } from "./plan/plan.ts";
import { openQueryHints } from "./read/query-hints.ts";
import { readRows } from "./read/read.ts";
import { openReadAhead } from "./read/read-ahead.ts";
import { readIntoFile, rowsIntoFile } from "./read/read-into-file.ts";
import { sharedReader } from "./read/read-shared.ts";
import { openSharedReads } from "./read/shared-reads.ts";
import { openTotalCache } from "./read/total-cache.ts";
import { watchData } from "./read/watch-data.ts";
import { openConnectionPool } from "./session/connection-pool.ts";
import { watchUnknownWrites } from "./session/data-versions.ts";
import { macrosOf } from "./session/macros.ts";
import { openSession } from "./session/open-session.ts";
import { openQuerySlots } from "./session/query-slots.ts";
import { sessionRunner } from "./session/run-in-session.ts";
import type { Session } from "./session/session.ts";
import { KEEP_ORDER, mayLoseOrder } from "./session/session-settings.ts";
import { withConnection } from "./session/with-connection.ts";
import { runChange } from "./write/change.ts";
import { openInsertGroups } from "./write/insert-groups.ts";
import { runOnce } from "./write/run-once.ts";
import { findCountProblem } from "./write/run-server-call.ts";
import { emptyQuery } from "./write/stored-types.ts";
import { runWrite } from "./write/write.ts";
import { openWriteRecords, upgradeRecords } from "./write/write-records.ts";
import { openWriteSerializer } from "./write/write-serializer.ts";

/** Opens the embedded engine. Rejects with an EngineOpenError. */
export async function openDuckDb(options: OpenOptions): Promise<EmbeddedEngine> {
  const settings = withDefaults(options.settings, options);
  const opened = await openOrCopy((copy) => openDatabase(copy ?? options.path, settings, options), options);
  if (options.path !== undefined) await upgradeRecords(opened.database);
  return engineOver(opened, options);
}

const CONNECTIONS_OPENED_AT_ONCE = 4;

/** Creates the engine for an open database, which it closes along with itself. */
export function engineOver(opened: OpenDatabase, options: EngineOptions): EmbeddedEngine {
  const { database, settings, versions, configured } = opened;
  const { maxValueBytes = Number.POSITIVE_INFINITY } = options;
  const instance = crypto.randomUUID();
  const macros = macrosOf(maxValueBytes);
  const mask = messageMask([
    ...options.connections.flatMap(({ secrets }) => secrets),
    ...[...configured].flatMap(([name, value]) => (isCredentialName(name) ? value : [])),
  ]);
  const slots = openQuerySlots(options);
  const pool = openConnectionPool({ database, settings, versions, macros, maxIdle: options.maxConcurrentQueries * 2 });
  const definitions = options.connections;
  const serverSettings = openServerSettings({ ...options, definitions });
  const configuration = configurationLock({ ...opened, definitions, serverSettings: serverSettings.names });
  const servers = openServerCatalogs({
    ...options,
    database,
    openCancellation,
    probe: () => probes.probeAll("mysql"),
    onRefresh: pool.dropIdleStatements,
  });
  const connections = openDuckDbConnections({
    database,
    configuration,
    settings,
    serverSettings,
    definitions,
    copyLocked: options.copyLocked,
    servers,
    mask,
    explain: async (message, sql) =>
      (await explainMissingExtension(message, opened)) ?? explained(await explanations.of(message, sql), message),
    slots: openSlots({ size: CONNECTIONS_OPENED_AT_ONCE, maxWaiting: 0 }),
    onOpening: beginUnknownChange,
    onOpened: async () => {
      await Promise.all([files.findAttached(), sqlite.findAttached(), probes.findAttached()]);
    },
  });
  const planner = openPlanner({ ...options, database, settings, mask, servers, macros });
  const inspect: typeof planner.inspect = (statement) => servers.use(() => planner.inspect(statement));
  const explanations = openExplanations({ ...options, inspect, describe: planner.describe, mask });
  const hints = openQueryHints();
  const catalogs = new Set(opened.catalogs);
  const dependencies = dependencyFinder({ inspect, catalogs });
  const totals = openTotalCache(versions, dependencies);
  const sharedReads = openSharedReads();
  const readShared = sharedReader({ hints, versions, dependencies, sharedReads, run: runRead });
  const isWatched = (sql: string): boolean => dependencies.known(sql)?.tables !== undefined;
  const pages = openReadAhead({ read: readShared, isWatched });
  const serializer = openWriteSerializer();
  const databases = openDatabases(planner.inspect);
  const writing = { versions, serializer, databases, invalidateNames };
  const insertGroups = openInsertGroups({ run: write, isInDuckDb: databases.isInDuckDb });
  const records = openWriteRecords();
  const files = openReplacedFiles({ database, mask, onReplacing: beginUnknownChange, ...options });
  const sqlite = openSqliteFiles({ ...options, inspect, run: attach });
  const probes = openServerProbes({ ...options, database, inspect: planner.inspect, mask });
  const { inSession, inSessionOnce } = sessionRunner({
    connections,
    explanations,
    servers,
    sqlite,
    files,
    slots,
    pool,
    mask,
    openCancellation,
    onCheckpointFailed,
  });
  const active = new Set<Cancellation>();
  let closing: Promise<void> | undefined;
  let assumedCatalog: Promise<boolean> | undefined;
  void files.findAttached();

  /** Starts a change of unknown extent: an `init` may create tables, views and macros. The returned function ends the change. */
  function beginUnknownChange(): () => void {
    const endWrite = versions.beginWrite("all");
    return () => {
      endWrite();
      invalidateNames();
    };
  }

  function invalidateNames(names?: readonly string[]): void {
    pool.invalidateStatements(names);
    dependencies.forget(names);
    if (names === undefined) databases.forget();
  }

  async function attach(sql: string): Promise<void> {
    const endChange = beginUnknownChange();
    try {
      const run = (text: string) => withConnection(database, (connection) => duckdb.query(connection, text));
      await configuration.runTrusted(() => attachOrCopy(sql, run, options));
    } catch (error) {
      throw new EngineOpenError(
        mask((await explainMissingExtension(errorMessage(error), opened)) ?? errorMessage(error)),
      );
    } finally {
      endChange();
    }
  }

  function onCheckpointFailed(error: unknown): void {
    options.onCheckpointFailed?.(mask(withoutSql(errorMessage(error))));
  }

  function openCancellation(signal: StopSignal): Cancellation {
    if (closing !== undefined) throw new RequestFailure({ kind: "draining" });
    const cancellation: Cancellation = cancellationOf(signal, () => active.delete(cancellation));
    active.add(cancellation);
    return cancellation;
  }

  async function close(): Promise<void> {
    for (const cancellation of [...active]) cancellation.cancel(new RequestFailure({ kind: "draining" }));
    await connections.stop();
    await files.close();
    await servers.close();
    await planner.close();
    await pool.close();
    // An `init` or a probe may wait for an unresponsive server, which nothing can interrupt: closing does not wait.
    if (connections.isIdle() && probes.isIdle()) duckdb.close_sync(database);
  }

  function runRead(read: Read): Promise<Rows> {
    return inSession(read, "read", (session, { toFailure, sqliteTurn }) => {
      const moment = versions.now();
      return readRows(read, {
        session,
        hints,
        totals,
        maxValueBytes,
        residentBytes: options.residentBytes,
        readsOwnTables: dependencies.readsOwnTables,
        watch: () => watchData(read, { moment, versions, dependencies, instance }),
        sibling: () => {
          const request = slots.request(read);
          if (sqliteTurn !== undefined || !slots.tryEnter(request)) return undefined;
          const cancellation = openCancellation(read.signal);
          return openSession({ pool, slots, request, cancellation, onCheckpointFailed });
        },
        stream: { isCrowded: () => slots.waiting() > 0, failureOf: toFailure },
      });
    });
  }

  function write(change: Write, check?: () => void): Promise<WriteResult> {
    // Where each statement commits by itself, those before the failed one must not run again.
    const run = change.transaction ? inSession : inSessionOnce;
    return run(change, "write", async (session) => {
      check?.();
      return await runWrite(change, { session, versions, serializer, databases, invalidateNames });
    });
  }

  return {
    dialect: duckdbDialect,
    openConnection: connections.open,
    canProbe: (name) => closing === undefined && probes.isAttached(name),
    probe: probes.probe,
    freeSlots: slots.free,
    lock: configuration.lock,
    plan: async (statements) => explanations.add(await planner.plan(statements), statements),
    describe: planner.describe,
    largeScans: planner.largeScans,
    parameterTypes: planner.parameterTypes,
    async assumeTable(table, statements) {
      assumedCatalog ??= attach(ATTACH_ASSUMED).then(
        () => true,
        () => false,
      );
      return (await assumedCatalog) ? planner.assume(table, statements) : undefined;
    },
    watchSchema: () => servers.watch(watchUnknownWrites(versions)),
    refreshCatalogs: servers.refresh,
    parse: planner.parse,
    userFunctions: (called) => findUserFunctions(called, { inspect, isFile: opened.isFile, definitions }),
    read(read) {
      const ahead = pages.read(read);
      if (ahead === undefined) return readShared(read);
      return ahead instanceof Promise ? ahead.then((rows) => rows ?? readShared(read)) : Promise.resolve(ahead);
    },
    write: insertGroups.write,
    writeOnce: (change, once) =>
      inSession(change, "write", (session) => runOnce(change, once, { ...writing, session, records })),
    recordStore: databases.recordStore,
    async writeProblem(statements, transaction) {
      const problem = transaction ? await databases.transactionProblem(statements) : undefined;
      return problem ?? (await findCountProblem(statements, inspect));
    },
    async change(change, work) {
      const setup = mayLoseOrder(settings.statements()) ? [{ sql: KEEP_ORDER, values: [] }] : [];
      const unwrap = await inSession(change, "read", (session, { toFailure }) =>
        runChange(change, work, { ...writing, session, failureOf: toFailure, setup }),
      );
      return unwrap();
    },
    async attach(alias, sql) {
      await servers.use(() => attach(sql));
      catalogs.add(alias);
    },
    readIntoFile: (read, file) =>
      inSession(read, "read", (session) => ended(session, readIntoFile(read, file, { session, hints }))),
    explain: (query) =>
      inSession(query, query.analyze ? "write" : "read", (session) => explain(query, { session, databases, mask })),
    rowsIntoFile: (rows, file, signal) =>
      inSession({ connections: [], signal }, "read", (session) => ended(session, rowsIntoFile(rows, file, session))),
    emptyQuery: (columns) => ({ sql: emptyQuery(columns), values: [] }),
    activity: () => ({ running: slots.running(), waiting: slots.waiting() + insertGroups.waiting() }),
    savings: () => ({ shared: sharedReads.sharedCount(), knownTotals: totals.hits() }),
    memory: () => memoryOf(planner.inspect),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** The result of work, once it has ended the session. */
async function ended<T>(session: Session, work: Promise<T>): Promise<T> {
  const result = await work;
  await session.end();
  return result;
}
