import duckdb from "@duckdb/node-bindings";
import type { Eventually } from "../../../eventually.ts";
import { RequestFailure } from "../../../failure.ts";
import { withTimeLimit } from "../../../time-limit.ts";
import type { ConnectionDefinition } from "../../embedded-engine.ts";
import type { StopSignal } from "../../engine.ts";
import { type Cancellation, NEVER_CANCELLED } from "../../queue/cancellation.ts";
import { NEVER_STOPPED } from "../../stop.ts";
import { inspect } from "../plan/inspect.ts";
import { openReadWriteLock } from "../session/read-write-lock.ts";
import { withConnection } from "../session/with-connection.ts";

/**
 * The tables of attached database servers, as DuckDB knows them: it reads their names and columns only once. A refresh makes it
 * read them again. Meanwhile no statement may run: DuckDB's extension for MySQL frees what the statement uses, which crashes the
 * process; with that for Postgres, the statement may fail. So statements and refreshes take turns. See
 * `docs/decisions/0031-server-catalogs.md`.
 */
export interface ServerCatalogs {
  /** Waits until statements may run. The returned function must be called when they have ended. Undefined if nothing attaches a server. */
  enter(cancellation: Cancellation): Eventually<(() => void) | undefined>;
  /** Runs work outside of sessions that may look up tables. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** Refreshes. False if statements run for too long: then it is done once they have ended. */
  refresh(): Promise<boolean>;
  /**
   * Refreshes if this error, of a statement that began at a certain time, may come from a change. Returns whether to try again.
   * Rejects if that cannot be found out.
   */
  refreshAfter(message: string, startedAt: number): Promise<boolean>;
  /** Runs work over these connections. If it fails because of a change, refreshes and runs it once more. */
  retryIfChanged<T>(connections: readonly string[], work: () => Promise<T>): Promise<T>;
  /** The same for work that cannot be repeated: the next call will succeed. */
  refreshIfChanged<T>(connections: readonly string[], work: () => Promise<T>): Promise<T>;
  /** The returned function tells whether there has been no refresh since this call, and nothing else has changed either. */
  watch(isUnchanged: () => boolean): () => boolean;
  /** Waits for a running refresh. */
  close(): Promise<void>;
}

export interface ServerCatalogsOptions {
  readonly database: duckdb.Database;
  readonly connections: readonly ConnectionDefinition[];
  readonly openCancellation: (signal: StopSignal) => Cancellation;
  /** Rejects with a RequestFailure if a server cannot be reached without which DuckDB must not be made to read its tables. */
  readonly probe: () => Promise<void>;
  /** Called before a refresh, while no statement runs: prepared statements may refer to the tables. */
  readonly onRefresh: () => void;
}

/** How long a refresh holds back new statements while it waits for the running ones, and how long calls wait for a refresh. */
const PATIENCE_MS = 2_000;
const MAX_WAITING = 10_000;
/** No error causes a refresh sooner after the last one: a template may simply be wrong. */
const MIN_INTERVAL_MS = 5_000;

/** A DuckLake changes its own tables itself. */
const ATTACHED_TYPES =
  "SELECT DISTINCT type FROM duckdb_databases() WHERE NOT starts_with(database_name, '__ducklake_metadata_')";
const CLEAR_CACHE = new Map([
  ["postgres", "CALL pg_clear_cache()"],
  ["mysql", "CALL mysql_clear_cache()"],
]);

/** DuckDB does not know a name, the server knows it no longer, or a column has another type. */
const MAY_BE_CHANGE =
  /^(?:Binder|Catalog) Error: |: ERROR: +(?:column|relation|schema|type) .* does not exist|: (?:Unknown column '|Table '[^']*' doesn't exist)|Postgres binary reader/;

export function openServerCatalogs(options: ServerCatalogsOptions): ServerCatalogs {
  const { database, connections, openCancellation, probe, onRefresh } = options;
  const attachesServer = connections.some(({ init }) => /postgres|mysql/i.test(init ?? ""));
  const lock = openReadWriteLock({ patienceMs: PATIENCE_MS, maxWaiting: MAX_WAITING });
  let refreshes = 0;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let clearing: Promise<void> | undefined;

  function refresh(): Promise<boolean> {
    if (!attachesServer) return Promise.resolve(true);
    running ??= refreshNow().finally(() => {
      running = undefined;
    });
    return withTimeLimit(
      running.then(() => true),
      PATIENCE_MS,
      () => false,
    );
  }

  async function refreshNow(): Promise<void> {
    await probe();
    const cancellation = openCancellation(NEVER_STOPPED);
    try {
      const leave = await lock.enter("write", cancellation);
      clearing = clearCaches().finally(leave);
      await clearing;
    } finally {
      cancellation.end();
    }
  }

  async function clearCaches(): Promise<void> {
    onRefresh();
    await withConnection(database, async (connection) => {
      for (const [type] of await inspect(connection, { sql: ATTACHED_TYPES, values: [] })) {
        const sql = CLEAR_CACHE.get(type ?? "");
        if (sql !== undefined) await duckdb.query(connection, sql);
      }
    });
    refreshes++;
    refreshedAt = performance.now();
  }

  async function refreshAfter(message: string, startedAt: number): Promise<boolean> {
    if (!attachesServer || !MAY_BE_CHANGE.test(message)) return false;
    if (refreshedAt > startedAt) return true;
    if (performance.now() - refreshedAt < MIN_INTERVAL_MS) return false;
    return await refresh();
  }

  async function runAndRefresh<T>(
    names: readonly string[],
    work: () => Promise<T>,
    repeat: () => Promise<T> | undefined,
  ): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } catch (error) {
      const message = error instanceof RequestFailure && error.failure.kind === "query-failed" && error.failure.message;
      const mayHaveChanged =
        message && (await refreshAfter(message, startedAt).catch((reason: unknown) => throwIfDown(reason, names)));
      const repeated = mayHaveChanged ? repeat() : undefined;
      if (repeated === undefined) throw error;
      return await repeated;
    }
  }

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const leave = await lock.enter("read", NEVER_CANCELLED);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return {
    enter: (cancellation) => (attachesServer ? lock.enter("read", cancellation) : undefined),
    use: (work) => (attachesServer ? inTurn(work) : work()),
    refresh,
    refreshAfter,
    retryIfChanged: (names, work) => (attachesServer ? runAndRefresh(names, work, work) : work()),
    refreshIfChanged: (names, work) => (attachesServer ? runAndRefresh(names, work, () => undefined) : work()),
    watch(isUnchanged) {
      const before = refreshes;
      return () => refreshes === before && isUnchanged();
    },
    async close() {
      await clearing?.catch(() => {});
    },
  };
}

/** That a server is down says more about work that uses it than that it has no such table. */
function throwIfDown(reason: unknown, names: readonly string[]): false {
  const failure = reason instanceof RequestFailure ? reason.failure : undefined;
  if (failure?.kind === "connection-down" && names.includes(failure.connection)) throw reason;
  return false;
}
