import type { StopSignal } from "../engines/engine.ts";
import { openStop } from "../engines/stop.ts";
import { type Failure, RequestFailure } from "../failure.ts";

/** The time that a call may spend in the database, and the ways in which it can be ended before. */
export interface Deadline {
  /** Aborted with a RequestFailure as its reason. */
  readonly signal: StopSignal;
  /** Ends the call now. The first reason counts. */
  cancel(failure: Failure): void;
  /** Runs work on the clock. Waiting for a slow client does not count: it is not the query that is slow. */
  spend<T>(work: () => Promise<T>): Promise<T>;
  /** The same for work whose outcome must be known, however long that takes: a change is done, or it is not. */
  spendUntilSettled<T>(work: () => Promise<T>): Promise<T>;
  /** Waits for work, and once the call has been ended only for a moment: what waits for another server cannot be interrupted. */
  abandonIfStuck<T>(work: Promise<T>): Promise<T>;
  /** Milliseconds on the clock so far. */
  spentMs(): number;
  /** The call is over. */
  close(): void;
}

/** DuckDB heeds an interrupt within milliseconds; what takes longer than this hangs in a source. It is left to end by itself. */
const STUCK_MS = 1_000;

/** Opens the clock of one call. */
export function openDeadline(timeoutMs: number): Deadline {
  const stop = openStop();
  let spent = 0;
  /** When the work that runs now began. */
  let since: number | undefined;
  // One timer for the whole call: a call spends its time in several pieces, most of them shorter than a timer costs.
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

  function unlessStuck<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let patience: NodeJS.Timeout | undefined;
      const abort = (): void => {
        patience = setTimeout(() => reject(stop.signal.reason), STUCK_MS);
      };
      const settle = (): void => {
        stop.signal.removeEventListener("abort", abort);
        clearTimeout(patience);
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

  async function spendToTheEnd<T>(work: () => Promise<T>): Promise<T> {
    since = performance.now();
    if (timer === undefined) arm();
    try {
      return await work();
    } finally {
      spent += performance.now() - since;
      since = undefined;
    }
  }

  return {
    signal: stop.signal,
    cancel,
    abandonIfStuck: unlessStuck,
    spend: (work) => spendToTheEnd(() => unlessStuck(work())),
    spendUntilSettled: spendToTheEnd,
    spentMs: () => spent + (since === undefined ? 0 : performance.now() - since),
    close() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
