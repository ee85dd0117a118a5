import type { StopSignal } from "../engines/engine.ts";
import { openStop } from "../engines/stop.ts";
import type { Eventually } from "../eventually.ts";
import { type Failure, RequestFailure } from "../failure.ts";

/** Limits the time that a call spends in the database, and cancels calls. */
export interface Deadline {
  /** Aborted with a RequestFailure as its reason. */
  readonly signal: StopSignal;
  /** Cancels the call. The first reason counts. */
  cancel(failure: Failure): void;
  /** Runs work whose time counts. Waiting for a slow client does not. */
  spend<T>(work: () => Promise<T>): Promise<T>;
  spend<T>(work: () => Eventually<T>): Eventually<T>;
  /** The same for a write, whose outcome must be known, so it is always awaited. */
  spendUntilSettled<T>(work: () => Promise<T>): Promise<T>;
  /** Waits for work, but after a cancel only briefly: a query that waits for another server cannot be interrupted. */
  abandonIfStuck<T>(work: Promise<T>): Promise<T>;
  /** Milliseconds spent so far. */
  spentMs(): number;
  /** The call is over. */
  close(): void;
}

/** DuckDB stops within milliseconds of an interrupt. A query that takes longer hangs in a data source and is abandoned. */
const STUCK_MS = 1_000;

export function openDeadline(timeoutMs: number): Deadline {
  const stop = openStop();
  let spent = 0;
  /** When the current work started. */
  let since: number | undefined;
  // One timer for the whole call, because most pieces of work take less time than setting a timer.
  let timer: NodeJS.Timeout | undefined;

  function cancel(failure: Failure): void {
    stop.abort(new RequestFailure(failure));
  }

  function arm(): void {
    timer = setTimeout(expire, Math.max(1, timeoutMs - spent));
  }

  function expire(): void {
    timer = undefined;
    if (since === undefined) return;
    const left = timeoutMs - spent - (performance.now() - since);
    if (left > 0) timer = setTimeout(expire, left);
    else cancel({ kind: "query-timeout", limitMs: timeoutMs });
  }

  /** `onSettled` is called when the work is over or abandoned. */
  function abandonIfStuck<T>(work: Promise<T>, onSettled?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let stuckTimer: NodeJS.Timeout | undefined;
      let isSettled = false;
      const settle = (): void => {
        if (isSettled) return;
        isSettled = true;
        stop.signal.removeEventListener("abort", abort);
        clearTimeout(stuckTimer);
        onSettled?.();
      };
      const abort = (): void => {
        stuckTimer = setTimeout(() => {
          settle();
          reject(stop.signal.reason);
        }, STUCK_MS);
      };
      if (stop.signal.aborted) abort();
      else stop.signal.addEventListener("abort", abort);
      work.then(
        (value) => {
          settle();
          resolve(value);
        },
        (error: unknown) => {
          settle();
          reject(error);
        },
      );
    });
  }

  function beginSpending(): void {
    since = performance.now();
    if (timer === undefined) arm();
  }

  function endSpending(): void {
    spent += performance.now() - (since ?? 0);
    since = undefined;
  }

  function spend<T>(work: () => Promise<T>): Promise<T>;
  function spend<T>(work: () => Eventually<T>): Eventually<T>;
  function spend<T>(work: () => Eventually<T>): Eventually<T> {
    beginSpending();
    let value: Eventually<T>;
    try {
      value = work();
    } catch (error) {
      endSpending();
      throw error;
    }
    if (value instanceof Promise) return abandonIfStuck(value, endSpending);
    endSpending();
    return value;
  }

  async function spendUntilSettled<T>(work: () => Promise<T>): Promise<T> {
    beginSpending();
    try {
      return await work();
    } finally {
      endSpending();
    }
  }

  return {
    signal: stop.signal,
    cancel,
    abandonIfStuck: (work) => abandonIfStuck(work),
    spend,
    spendUntilSettled,
    spentMs: () => spent + (since === undefined ? 0 : performance.now() - since),
    close() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
