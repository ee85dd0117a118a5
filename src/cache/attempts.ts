import type { StopSignal } from "../engines/engine.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";
import type { Snapshot } from "./cache.ts";
import { asFailure } from "./refresh-failure.ts";
import type { Job, RefreshPriority, RefreshQueue } from "./refresh-queue.ts";

/** Something that is refreshed: one attempt at a time, and at most one more that has not begun. */
export interface Subject {
  /** Every write that made it old. */
  readonly writes: { count: number };
  running: Attempt | undefined;
  /** Begins when its turn comes and the running one is over. Whoever needs rows from now on shares it. */
  waiting: Attempt | undefined;
}

/** One refresh, from the first who wants it to its end. */
export interface Attempt extends Job {
  priority: RefreshPriority;
  /** Nobody wants it any more when all have left who waited for it; others run to their end. */
  readonly endsWithWaiters: boolean;
  readonly waiters: Set<Waiter>;
  readonly signal: StopSignal;
  readonly abort: Stop["abort"];
  /** How many writes it is sure to see. */
  writes: number;
  startedAtMs: number;
  /** By the time of the schedule; undefined while it waits for its turn. */
  beganAt: number | undefined;
}

/** How an attempt ended. When waiters hear of it, the subject has it already. */
export type Ended = { readonly kind: "made" } | { readonly kind: "failed"; readonly failure: RequestFailure };

type Waiter = (ended: Ended) => void;

/** What becomes of the attempts of one kind of subject. */
export interface Refreshing<S extends Subject> {
  /** `isScheduled`: nobody waits for it. */
  make(subject: S, signal: StopSignal, isScheduled: boolean): Promise<Snapshot>;
  /** Puts the new rows in the place of the old ones, before those who wait are told. */
  made(subject: S, snapshot: Snapshot, attempt: Attempt): void;
  failed(subject: S, failure: RequestFailure, attempt: Attempt): void | Promise<void>;
  /** After those who waited have been told. */
  settled(subject: S): void;
}

export interface Wish<T> {
  readonly priority: RefreshPriority;
  /** Only rows that are read from now on will do. */
  readonly newer: boolean;
  readonly signal: StopSignal | undefined;
  readonly endsWithWaiters: boolean;
  /** Called in the very moment in which the attempt ends, so that nothing can go before it is leased. */
  readonly take: (ended: Ended) => T;
}

export interface Attempts<S extends Subject> {
  /** Refreshes, or shares a refresh that sees every write so far. */
  wait<T>(subject: S, wish: Wish<T>): Promise<T>;
  /** Refreshes when nobody does; nobody waits. */
  begin(subject: S): void;
}

export interface AttemptsOptions<S extends Subject> {
  readonly queue: RefreshQueue;
  readonly now: () => number;
  readonly time: () => number;
  readonly refreshing: Refreshing<S>;
}

export function openAttempts<S extends Subject>({ queue, now, time, refreshing }: AttemptsOptions<S>): Attempts<S> {
  function attemptFor(subject: S, priority: RefreshPriority, endsWithWaiters: boolean): Attempt {
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
      start: () => run(subject, attempt),
      stop() {
        const failure = new RequestFailure({ kind: "draining" });
        abort(failure);
        if (subject.waiting !== attempt) return;
        subject.waiting = undefined;
        tell(attempt, { kind: "failed", failure });
      },
    };
    return attempt;
  }

  async function run(subject: S, attempt: Attempt): Promise<void> {
    subject.waiting = undefined;
    if (attempt.endsWithWaiters && attempt.waiters.size === 0) return refreshing.settled(subject);
    subject.running = attempt;
    attempt.writes = subject.writes.count;
    attempt.startedAtMs = now();
    attempt.beganAt = time();
    const ended = await resultOf(subject, attempt);
    subject.running = undefined;
    const followUp = ended.kind === "failed" ? refreshing.failed(subject, ended.failure, attempt) : undefined;
    tell(attempt, ended);
    refreshing.settled(subject);
    enqueueWaiting(subject);
    await followUp;
  }

  function enqueueWaiting({ waiting }: S): void {
    if (waiting !== undefined) queue.add(waiting, waiting.priority);
  }

  async function resultOf(subject: S, attempt: Attempt): Promise<Ended> {
    try {
      const snapshot = await refreshing.make(subject, attempt.signal, attempt.priority === "background");
      refreshing.made(subject, snapshot, attempt);
      return { kind: "made" };
    } catch (error) {
      return { kind: "failed", failure: asFailure(error) };
    }
  }

  /** Puts an attempt that begins from now on into the queue, or forward in it. Those who wait for it must be known: it may begin at once. */
  function enqueue(subject: S, attempt: Attempt, priority: RefreshPriority): void {
    if (RANK[priority] < RANK[attempt.priority]) attempt.priority = priority;
    if (subject.waiting === attempt) {
      queue.hasten(attempt, attempt.priority);
      return;
    }
    subject.waiting = attempt;
    // Behind a running one: its end puts this one into the queue.
    if (subject.running === undefined) queue.add(attempt, attempt.priority);
  }

  return {
    wait(subject, { priority, newer, signal, endsWithWaiters, take }) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { running } = subject;
      const seesEverything = running !== undefined && !newer && running.writes === subject.writes.count;
      if (seesEverything && !running.signal.aborted) return waitFor(running, take, signal);
      const attempt = subject.waiting ?? attemptFor(subject, priority, endsWithWaiters);
      const waited = waitFor(attempt, take, signal);
      enqueue(subject, attempt, priority);
      return waited;
    },
    begin(subject) {
      if (subject.running !== undefined || subject.waiting !== undefined) return;
      enqueue(subject, attemptFor(subject, "background", false), "background");
    },
  };
}

const RANK: Readonly<Record<RefreshPriority, number>> = { call: 0, read: 1, background: 2 };

function tell({ waiters }: Attempt, ended: Ended): void {
  for (const waiter of waiters) waiter(ended);
  waiters.clear();
}

/** Stops waiting when the call ends; the attempt goes on for the others. */
function waitFor<T>(attempt: Attempt, take: (ended: Ended) => T, signal: StopSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = (ended) => {
      signal?.removeEventListener("abort", leave);
      try {
        resolve(take(ended));
      } catch (failure) {
        reject(failure);
      }
    };
    const leave = (): void => {
      signal?.removeEventListener("abort", leave);
      attempt.waiters.delete(waiter);
      reject(signal?.reason);
      const isAbandoned = attempt.endsWithWaiters && attempt.waiters.size === 0;
      // One that has not begun can still be wanted by others until its turn.
      if (isAbandoned && attempt.beganAt !== undefined) attempt.abort(signal?.reason);
    };
    attempt.waiters.add(waiter);
    signal?.addEventListener("abort", leave);
  });
}
