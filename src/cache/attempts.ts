import type { StopSignal } from "../engines/engine.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import type { Snapshot } from "./cache.ts";
import { asFailure } from "./refresh-failure.ts";
import type { Job, RefreshPriority, RefreshQueue } from "./refresh-queue.ts";

/** Something that is refreshed: at most one attempt runs, and at most one more waits. */
export interface RefreshTarget {
  /** Counts the writes that made it stale. */
  readonly writes: { count: number };
  running: Attempt | undefined;
  /** Starts after the running one. All callers that need newer rows share it. */
  waiting: Attempt | undefined;
}

/** One refresh, from the first request to its end. */
export interface Attempt extends Job {
  priority: RefreshPriority;
  /** Whether it is cancelled when its last waiter is. Other attempts run to their end. */
  readonly endsWithWaiters: boolean;
  readonly waiters: Set<Waiter>;
  readonly signal: StopSignal;
  readonly abort: Stop["abort"];
  /** How many writes its rows are certain to include. */
  includedWrites: number;
  /** When it started, in clock time; 0 while it waits. */
  startedAtMs: number;
  /** The same moment in schedule time; undefined while it waits. */
  startedAt: number | undefined;
}

/** How an attempt ended. The target has the rows before its waiters are notified. */
export type RefreshOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly failure: RequestFailure };

type Waiter = (outcome: RefreshOutcome) => void;

/** Handles the attempts of one kind of target. */
export interface RefreshHandlers<S extends RefreshTarget> {
  /** Creates the new rows. `isBackground`: no call was waiting when the attempt started. */
  make(target: S, signal: StopSignal, isBackground: boolean): Promise<Snapshot>;
  /** Replaces the old rows, before waiters are notified. */
  onMade(target: S, snapshot: Snapshot, attempt: Attempt): void;
  onFailed(target: S, failure: RequestFailure, attempt: Attempt): void | Promise<void>;
  /** Called after waiters were notified. */
  onSettled(target: S): void;
}

export interface RefreshRequest<T> {
  readonly priority: RefreshPriority;
  /** Whether a refresh that already runs is not enough. */
  readonly mustBeNew: boolean;
  readonly signal: StopSignal | undefined;
  readonly endsWithWaiters: boolean;
  /** Called synchronously when the attempt ends, so that the snapshot is leased before it can be dropped. */
  readonly onEnd: (outcome: RefreshOutcome) => T;
}

export interface Attempts<S extends RefreshTarget> {
  /** Waits for a refresh, possibly a running one that includes every write so far. */
  wait<T>(target: S, request: RefreshRequest<T>): Promise<T>;
  /** Starts a background refresh, unless one runs or waits. */
  begin(target: S): void;
}

export interface AttemptsOptions<S extends RefreshTarget> {
  readonly queue: RefreshQueue;
  /** Clock time. */
  readonly now: () => number;
  /** Schedule time, which never runs backwards. */
  readonly time: () => number;
  readonly handlers: RefreshHandlers<S>;
}

export function openAttempts<S extends RefreshTarget>({ queue, now, time, handlers }: AttemptsOptions<S>): Attempts<S> {
  function createAttempt(target: S, priority: RefreshPriority, endsWithWaiters: boolean): Attempt {
    const { signal, abort } = openStop();
    const attempt: Attempt = {
      priority,
      endsWithWaiters,
      waiters: new Set(),
      signal,
      abort,
      includedWrites: 0,
      startedAtMs: 0,
      startedAt: undefined,
      start: () => run(target, attempt),
      stop() {
        const failure = new RequestFailure({ kind: "draining" });
        abort(failure);
        if (target.waiting !== attempt) return;
        target.waiting = undefined;
        notify(attempt, { kind: "failed", failure });
      },
    };
    return attempt;
  }

  async function run(target: S, attempt: Attempt): Promise<void> {
    target.waiting = undefined;
    if (attempt.endsWithWaiters && attempt.waiters.size === 0) return handlers.onSettled(target);
    target.running = attempt;
    attempt.includedWrites = target.writes.count;
    attempt.startedAtMs = now();
    attempt.startedAt = time();
    const outcome = await makeSnapshot(target, attempt);
    target.running = undefined;
    const followUp = outcome.kind === "failed" ? handlers.onFailed(target, outcome.failure, attempt) : undefined;
    notify(attempt, outcome);
    handlers.onSettled(target);
    enqueueWaiting(target);
    await followUp;
  }

  function enqueueWaiting({ waiting }: S): void {
    if (waiting !== undefined) queue.add(waiting, waiting.priority);
  }

  async function makeSnapshot(target: S, attempt: Attempt): Promise<RefreshOutcome> {
    try {
      const snapshot = await handlers.make(target, attempt.signal, attempt.priority === "background");
      handlers.onMade(target, snapshot, attempt);
      return { kind: "succeeded" };
    } catch (error) {
      return { kind: "failed", failure: asFailure(error) };
    }
  }

  /** Queues an attempt, or moves it forward. Register its waiters first: it may start immediately. */
  function enqueue(target: S, attempt: Attempt, priority: RefreshPriority): void {
    if (RANK[priority] < RANK[attempt.priority]) attempt.priority = priority;
    if (target.waiting === attempt) {
      queue.prioritize(attempt, attempt.priority);
      return;
    }
    target.waiting = attempt;
    // A running attempt queues this one when it ends.
    if (target.running === undefined) queue.add(attempt, attempt.priority);
  }

  return {
    wait(target, { priority, mustBeNew, signal, endsWithWaiters, onEnd }) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { running } = target;
      const includesAllWrites = running !== undefined && !mustBeNew && running.includedWrites === target.writes.count;
      if (includesAllWrites && !running.signal.aborted) return waitFor(running, onEnd, signal);
      const attempt = target.waiting ?? createAttempt(target, priority, endsWithWaiters);
      const result = waitFor(attempt, onEnd, signal);
      enqueue(target, attempt, priority);
      return result;
    },
    begin(target) {
      if (target.running !== undefined || target.waiting !== undefined) return;
      enqueue(target, createAttempt(target, "background", false), "background");
    },
  };
}

const RANK: Readonly<Record<RefreshPriority, number>> = { call: 0, read: 1, background: 2 };

function notify({ waiters }: Attempt, outcome: RefreshOutcome): void {
  for (const waiter of waiters) waiter(outcome);
  waiters.clear();
}

/**
 * Waits for the end of an attempt, or until the call is cancelled. The last waiter to be cancelled aborts an attempt that
 * `endsWithWaiters`.
 */
function waitFor<T>(
  attempt: Attempt,
  onEnd: (outcome: RefreshOutcome) => T,
  signal: StopSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = (outcome) => {
      signal?.removeEventListener("abort", stopWaiting);
      try {
        resolve(onEnd(outcome));
      } catch (failure) {
        reject(failure);
      }
    };
    const stopWaiting = (): void => {
      signal?.removeEventListener("abort", stopWaiting);
      attempt.waiters.delete(waiter);
      reject(signal?.reason);
      const isAbandoned = attempt.endsWithWaiters && attempt.waiters.size === 0;
      // Other callers may still join an attempt that has not started.
      if (isAbandoned && attempt.startedAt !== undefined) attempt.abort(signal?.reason);
    };
    attempt.waiters.add(waiter);
    signal?.addEventListener("abort", stopWaiting);
  });
}
