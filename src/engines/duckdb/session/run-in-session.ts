import { RequestFailure } from "../../../failure.ts";
import type { Mask } from "../../../secrets.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Read, StopSignal } from "../../engine.ts";
import type { Cancellation } from "../../queue/cancellation.ts";
import type { DuckDbConnections } from "../database/open-connections.ts";
import type { ReplacedFiles } from "../database/replaced-files.ts";
import type { ServerCatalogs } from "../database/server-catalogs.ts";
import type { SqliteFiles, SqliteTurn } from "../database/sqlite-files.ts";
import type { Explanations } from "../explanation.ts";
import { failureOf } from "../messages.ts";
import { openSession, type SessionOptions } from "./open-session.ts";
import type { LockUse } from "./read-write-lock.ts";
import type { Session } from "./session.ts";

export interface Job extends Pick<Read, "connections" | "queueGroup" | "signal" | "onStart"> {
  readonly statements?: Read["statements"];
}

/** What work needs besides its session. */
export interface WorkContext {
  readonly toFailure: (error: unknown) => RequestFailure;
  /** Defined while the work uses SQLite files. */
  readonly sqliteTurn: SqliteTurn | undefined;
}

/** Work in a session. If it succeeds, it must end the session. */
type Work<T> = (session: Session, context: WorkContext) => Promise<T>;

export interface SessionRunner {
  /**
   * Like `inSessionOnce`, for work that can be repeated: repeats it if a file was replaced or locked while it ran, or if the
   * tables of a database server have changed.
   */
  inSession<T>(job: Job, use: LockUse, work: Work<T>): Promise<T>;
  /** Opens the connections, waits for a slot and runs the work. If that fails, ends the session. */
  inSessionOnce<T>(job: Job, use: LockUse, work: Work<T>): Promise<T>;
}

export interface SessionRunnerOptions extends Pick<SessionOptions, "pool" | "slots" | "onCheckpointFailed"> {
  readonly explanations: Explanations;
  readonly connections: DuckDbConnections;
  readonly servers: ServerCatalogs;
  readonly sqlite: SqliteFiles;
  readonly files: ReplacedFiles;
  readonly mask: Mask;
  readonly openCancellation: (signal: StopSignal) => Cancellation;
}

export function sessionRunner(options: SessionRunnerOptions): SessionRunner {
  const { connections, servers, sqlite, files, mask, pool, slots, openCancellation, onCheckpointFailed } = options;

  /** For the log. The response contains only the message. */
  async function explainFailure(error: RequestFailure, job: Job, last: Statement | undefined): Promise<RequestFailure> {
    const { failure, cause } = error;
    if (failure.kind !== "query-failed") return error;
    // All of them, because a statement that could not be prepared has not run.
    const sql = job.statements?.map((each) => each.sql).join(";") ?? last?.sql;
    const explanation = await options.explanations.of(failure.masked ?? failure.message, sql);
    return explanation === undefined ? error : new RequestFailure({ ...failure, explanation }, { cause });
  }

  async function runInSession<T>(job: Job, use: LockUse, work: Work<T>): Promise<T> {
    const { connections: names, signal, onStart } = job;
    const definitions = connections.definitionsOf(names);
    let session: Session | undefined;
    let leaveServers: (() => void) | undefined;
    let sqliteTurn: SqliteTurn | undefined;
    const toFailure = (error: unknown): RequestFailure =>
      failureOf(error, { connections: definitions, mask, statement: session?.lastStatement() });
    const leaveAll = (): void => {
      sqliteTurn?.leave();
      leaveServers?.();
    };
    const cancellation = openCancellation(signal);
    try {
      // Each is awaited only if it has to be: promises take a large part of a short query's time.
      const opening = connections.openAll(names, cancellation);
      if (opening !== undefined) await opening;
      // Before the turns on SQLite files: a refresh waits for those that have one, and holds back those that come later.
      const leaving = servers.enter(cancellation);
      leaveServers = leaving instanceof Promise ? await leaving : leaving;
      const waiting = sqlite.enter(job, use, cancellation);
      if (waiting !== undefined) sqliteTurn = await waiting;
      const request = slots.request(job);
      const entering = slots.enter(request, cancellation);
      if (entering !== undefined) await entering;
      onStart?.();
      const { plansInTransaction, recoverFrom } = sqliteTurn ?? {};
      const opened = openSession({
        pool,
        slots,
        request,
        cancellation,
        onCheckpointFailed,
        plansInTransaction,
        recoverFrom,
        onReleased: sqliteTurn === undefined ? leaveServers : leaveAll,
      });
      session = opened instanceof Promise ? await opened : opened;
      return await work(session, { toFailure, sqliteTurn });
    } catch (error) {
      await session?.end();
      leaveAll();
      cancellation.end();
      throw await explainFailure(toFailure(error), job, session?.lastStatement());
    }
  }

  return {
    inSession: (job, use, work) =>
      servers.retryIfChanged(job.connections, () =>
        sqlite.retryIfLocked(() => files.retryIfReplaced(() => runInSession(job, use, work))),
      ),
    inSessionOnce: (job, use, work) => servers.refreshIfChanged(job.connections, () => runInSession(job, use, work)),
  };
}
