import type { StopSignal } from "../engines/engine.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import type { Snapshot } from "./cache.ts";
import { asFailure } from "./refresh-failure.ts";
import type { Job, RefreshPriority, RefreshQueue } from "./refresh-queue.ts";

/** Something that is refreshed: one attempt runs, and at most one more waits. */
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
  /** It is cancelled when its last waiter is. Other attempts run to their end. */
  readonly endsWithWaiters: boolean;
  readonly waiters: Set<Waiter>;
  readonly signal: StopSignal;
  readonly abort: Stop["abort"];
  /** How many writes it is certain to see. */
  writes: number;
  startedAtMs: number;
  /** In schedule time; undefined while it waits. */
  beganAt: number | undefined;
}

/** How an attempt ended. The target has the rows before its waiters are notified. */
export type RefreshOutcome = { readonly kind: "made" } | { readonly kind: "failed"; readonly failure: RequestFailure };

type Waiter = (outcome: RefreshOutcome) => void;

/** Handles the attempts of one kind of target. */
export interface RefreshHandlers<S extends RefreshTarget> {
  /** `isScheduled`: no caller waits for it. */
  make(target: S, signal: StopSignal, isScheduled: boolean): Promise<Snapshot>;
  /** Replaces the old rows, before waiters are notified. */
  made(target: S, snapshot: Snapshot, attempt: Attempt): void;
  failed(target: S, failure: RequestFailure, attempt: Attempt): void | Promise<void>;
  /** Called after waiters were notified. */
  settled(target: S): void;
}

export interface RefreshRequest<T> {
  readonly priority: RefreshPriority;
  /** Only rows that are read from now on are acceptable. */
  readonly newer: boolean;
  readonly signal: StopSignal | undefined;
  readonly endsWithWaiters: boolean;
  /** Called synchronously when the attempt ends, so that the snapshot is leased before it can be dropped. */
  readonly take: (outcome: RefreshOutcome) => T;
}

export interface Attempts<S extends RefreshTarget> {
  /** Refreshes, or shares a refresh that sees every write so far. */
  wait<T>(target: S, request: RefreshRequest<T>): Promise<T>;
  /** Starts a background refresh, unless one runs or waits. */
  begin(target: S): void;
}

export interface AttemptsOptions<S extends RefreshTarget> {
  readonly queue: RefreshQueue;
  readonly now: () => number;
  readonly time: () => number;
  readonly handlers: RefreshHandlers<S>;
}

export function openAttempts<S extends RefreshTarget>({ queue, now, time, handlers }: AttemptsOptions<S>): Attempts<S> {
  function attemptFor(target: S, priority: RefreshPriority, endsWithWaiters: boolean): Attempt {
    const { signal, abort } = openStop();
    const attempt: Attempt = {
      priority,
      endsWithWaiters,
      waiters: new Set(),
      signal,
      abort,
      writes: 0,
      startedAtMs: 0,
      beganAt: undefined,
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
    if (attempt.endsWithWaiters && attempt.waiters.size === 0) return handlers.settled(target);
    target.running = attempt;
    attempt.writes = target.writes.count;
    attempt.startedAtMs = now();
    attempt.beganAt = time();
    const outcome = await resultOf(target, attempt);
    target.running = undefined;
    const followUp = outcome.kind === "failed" ? handlers.failed(target, outcome.failure, attempt) : undefined;
    notify(attempt, outcome);
    handlers.settled(target);
    enqueueWaiting(target);
    await followUp;
  }

  function enqueueWaiting({ waiting }: S): void {
    if (waiting !== undefined) queue.add(waiting, waiting.priority);
  }

  async function resultOf(target: S, attempt: Attempt): Promise<RefreshOutcome> {
    try {
      const snapshot = await handlers.make(target, attempt.signal, attempt.priority === "background");
      handlers.made(target, snapshot, attempt);
      return { kind: "made" };
    } catch (error) {
      return { kind: "failed", failure: asFailure(error) };
    }
  }

  /** Queues an attempt, or moves it forward. Its waiters must be registered before: it may start at once. */
  function enqueue(target: S, attempt: Attempt, priority: RefreshPriority): void {
    if (RANK[priority] < RANK[attempt.priority]) attempt.priority = priority;
    if (target.waiting === attempt) {
      queue.prioritize(attempt, attempt.priority);
      return;
    }
    target.waiting = attempt;
    // A running one queues this one when it ends.
    if (target.running === undefined) queue.add(attempt, attempt.priority);
  }

  return {
    wait(target, { priority, newer, signal, endsWithWaiters, take }) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { running } = target;
      const seesEverything = running !== undefined && !newer && running.writes === target.writes.count;
      if (seesEverything && !running.signal.aborted) return waitFor(running, take, signal);
      const attempt = target.waiting ?? attemptFor(target, priority, endsWithWaiters);
      const waited = waitFor(attempt, take, signal);
      enqueue(target, attempt, priority);
      return waited;
    },
    begin(target) {
      if (target.running !== undefined || target.waiting !== undefined) return;
      enqueue(target, attemptFor(target, "background", false), "background");
    },
  };
}

const RANK: Readonly<Record<RefreshPriority, number>> = { call: 0, read: 1, background: 2 };

function notify({ waiters }: Attempt, outcome: RefreshOutcome): void {
  for (const waiter of waiters) waiter(outcome);
  waiters.clear();
}

/** Stops waiting when the call is cancelled; the attempt continues for the others. */
function waitFor<T>(
  attempt: Attempt,
  take: (outcome: RefreshOutcome) => T,
  signal: StopSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = (outcome) => {
      signal?.removeEventListener("abort", stopWaiting);
      try {
        resolve(take(outcome));
      } catch (failure) {
        reject(failure);
      }
    };
    const stopWaiting = (): void => {
      signal?.removeEventListener("abort", stopWaiting);
      attempt.waiters.delete(waiter);
      reject(signal?.reason);
      const isAbandoned = attempt.endsWithWaiters && attempt.waiters.size === 0;
      // Others may still join an attempt that has not started.
      if (isAbandoned && attempt.beganAt !== undefined) attempt.abort(signal?.reason);
    };
    attempt.waiters.add(waiter);
    signal?.addEventListener("abort", stopWaiting);
  });
}
