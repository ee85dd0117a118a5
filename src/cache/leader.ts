import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { logMessage, RequestFailure } from "../failure.ts";
import { integerValue, type Statement, statement, textValue } from "../sql/statement.ts";
import type { After } from "../time-limit.ts";
import { tableIn } from "./store-names.ts";
import type { Run } from "./store-sql.ts";

/** Which of the processes that share a cache catalog leads: it runs scheduled refreshes and cleans up, the others only read. */
export interface Leadership {
  /** Whether this process leads. True only as long as no other process can have taken over. */
  isLeader(): boolean;
  /**
   * Statements for the start of a transaction. It fails, at once or when it is committed, if another process leads by then,
   * however long this one was suspended meanwhile. Call `fence` for each transaction.
   */
  fence(): readonly Statement[];
  /** Steps down, so that another process need not wait. */
  close(): Promise<void>;
}

export interface LeadershipOptions {
  readonly engine: EmbeddedEngine;
  /** The catalog, a DuckLake. It has a schema `audit`. */
  readonly catalog: string;
  /** A UUID of this process. */
  readonly id: string;
  /** A leader without a heartbeat for this long is replaced. */
  readonly leaseMs: number;
  /** Monotonic milliseconds, such as `performance.now`. */
  readonly now: () => number;
  readonly after: After;
  readonly report: Report;
  /** Called when this process starts or stops leading. */
  readonly changed: (leads: boolean) => void;
}

/** The known state of the leader. */
interface State {
  readonly holder: string | undefined;
  /** Grows with each change of leader. */
  readonly term: number;
  /** Grows with each heartbeat and each fenced transaction. */
  readonly heartbeat: number;
  readonly rows: number;
}

const HEARTBEATS_PER_LEASE = 3;
/** Heartbeats are rows. Deleting old ones conflicts with running refreshes, so it is rare. */
const MAX_ROWS = 10_000;
const DEPENDENCY = "cache leadership";
/** With the schema, so that no other table with the same prefix is affected. */
const TOUCHED: readonly string[] = ["audit.leader"];
const LOST = "another process leads the refreshes of this cache now";

/**
 * Starts to compete for leadership. Clocks of two processes are never compared: a follower takes over after `leaseMs` of its
 * own time without a new heartbeat, and a leader relies on its lead only that long after its last one. A leader that was
 * suspended meanwhile is rejected by the database: a change of leader deletes rows of a table into which a fenced transaction
 * inserts, and these two conflict in DuckLake. docs/decisions/0009-ducklake.md
 */
export async function openLeadership(options: LeadershipOptions): Promise<Leadership> {
  const { engine, catalog, id, leaseMs, now, after, report, changed } = options;
  const table = tableIn(catalog, "audit", "leader");
  let lastSeen: { readonly state: State; readonly at: number } | undefined;
  let lead: { readonly term: number; until: number } | undefined;
  let heartbeat = 0;
  let isDown = false;
  let isClosed = false;
  let cancel = (): void => {};

  /** Runs `work` in a transaction with a time limit. */
  async function change<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const cancelTimeout = after(leaseMs, () =>
      stop.abort(new RequestFailure({ kind: "query-timeout", limitMs: leaseMs })),
    );
    try {
      return await engine.change({ connections: [], touches: TOUCHED, signal: stop.signal }, work);
    } finally {
      cancelTimeout();
    }
  }

  async function createTable(): Promise<State> {
    return await change(async (run) => {
      const known = await readState(run).catch(() => undefined);
      if (known !== undefined) return known;
      // An empty table is replaced too: a change of leader must delete a row, or two of them would not conflict.
      await run(
        statement(
          `CREATE OR REPLACE TABLE ${table} AS
           SELECT NULL::VARCHAR AS holder, 0::BIGINT AS term, 0::BIGINT AS sign, NULL::TIMESTAMP AS at`,
        ),
      );
      return { holder: undefined, term: 0, heartbeat: 0, rows: 1 };
    });
  }

  async function readState(run: Run): Promise<State | undefined> {
    const [row] = await run(
      statement(
        `SELECT holder, term::VARCHAR, max(sign)::VARCHAR, count(*)::VARCHAR FROM ${table}
         GROUP BY holder, term ORDER BY term DESC NULLS LAST LIMIT 1`,
      ),
    );
    if (row === undefined) return undefined;
    const [holder, term, last, rows] = row;
    return { holder: holder ?? undefined, term: Number(term), heartbeat: Number(last), rows: Number(rows) };
  }

  function heartbeatFor(term: number): Statement {
    heartbeat++;
    // The time is informational.
    return statement(
      `INSERT INTO ${table} VALUES ($1, $2, $3, epoch_ms(epoch_ms(now())))`,
      textValue(id),
      integerValue(term),
      integerValue(heartbeat),
    );
  }

  /** Writes a heartbeat. Returns undefined if another process leads. */
  async function renew(term: number): Promise<State | undefined> {
    return await change(async (run) => {
      const state = await readState(run);
      if (state === undefined || state.holder !== id || state.term !== term) return undefined;
      if (state.rows >= MAX_ROWS) await run(statement(`DELETE FROM ${table}`));
      await run(heartbeatFor(term));
      return state;
    });
  }

  /** Returns the new term; undefined if the leader has written a heartbeat meanwhile. */
  async function takeOver(from: State): Promise<number | undefined> {
    return await change(async (run) => {
      const state = await readState(run);
      if (state?.term !== from.term || state.heartbeat !== from.heartbeat) return undefined;
      const term = from.term + 1;
      await run(statement(`DELETE FROM ${table}`));
      await run(heartbeatFor(term));
      return term;
    });
  }

  async function stepDown(term: number): Promise<void> {
    await change(async (run) => {
      const state = await readState(run);
      if (state?.holder !== id || state.term !== term) return;
      await run(statement(`DELETE FROM ${table}`));
      await run(
        statement(
          `INSERT INTO ${table} VALUES (NULL, $1, $2, epoch_ms(epoch_ms(now())))`,
          integerValue(term),
          integerValue(state.heartbeat + 1),
        ),
      );
    });
  }

  function isLeader(): boolean {
    return lead !== undefined && now() < lead.until;
  }

  /** Writes a heartbeat, or checks for one and takes over. Returns the milliseconds until the next step. */
  async function step(): Promise<number> {
    const beganAt = now();
    if (lead !== undefined) {
      const { term } = lead;
      if ((await renew(term)) === undefined) loseLead();
      else lead = { term, until: beganAt + leaseMs };
      return leaseMs / HEARTBEATS_PER_LEASE;
    }
    const state = (await change(readState).catch(() => undefined)) ?? (await createTable());
    if (lastSeen?.state.term !== state.term || lastSeen.state.heartbeat !== state.heartbeat)
      lastSeen = { state, at: now() };
    const remainingMs = state.holder === undefined ? 0 : lastSeen.at + leaseMs - now();
    if (remainingMs > 0) return Math.min(remainingMs, leaseMs / HEARTBEATS_PER_LEASE);
    const takingAt = now();
    const term = await takeOver(state);
    if (term === undefined) return 0;
    lead = { term, until: takingAt + leaseMs };
    changed(true);
    return leaseMs / HEARTBEATS_PER_LEASE;
  }

  function loseLead(): void {
    lead = undefined;
    lastSeen = undefined;
    changed(false);
  }

  async function runStep(): Promise<void> {
    let pauseMs = leaseMs / HEARTBEATS_PER_LEASE;
    try {
      pauseMs = await step();
      if (isDown && !isClosed) report({ kind: "dependency-up", dependency: DEPENDENCY });
      isDown = false;
    } catch (error) {
      // The catalog is unreachable or too busy: the lead lapses, and a process that reaches it takes over.
      const message = `${reasonOf(error)}; until it works again this process refreshes nothing by schedule`;
      if (!isDown && !isClosed) report({ kind: "dependency-down", dependency: DEPENDENCY, message });
      isDown = true;
    }
    if (isClosed) return;
    cancel = after(Math.max(1, pauseMs), () => {
      running = runStep();
    });
  }

  let running = runStep();
  await running;

  return {
    isLeader,
    fence() {
      const term = lead?.term ?? -1;
      const isOurs = `SELECT count(*) FROM ${table} WHERE holder = $1 AND term = $2`;
      return [
        statement(
          `SELECT CASE WHEN (${isOurs}) = 0 THEN error($3)::VARCHAR END`,
          textValue(id),
          integerValue(term),
          textValue(LOST),
        ),
        heartbeatFor(term),
      ];
    },
    async close() {
      isClosed = true;
      cancel();
      await running;
      const term = lead?.term;
      lead = undefined;
      if (term !== undefined) await stepDown(term).catch(() => {});
    },
  };
}

/** For a catalog that no other process can open. */
export const soleLeader: Leadership = {
  isLeader: () => true,
  fence: () => [],
  close: () => Promise.resolve(),
};

function reasonOf(error: unknown): string {
  if (error instanceof RequestFailure && error.failure.kind === "query-failed") return logMessage(error.failure);
  return errorMessage(error);
}
