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
  /** Milliseconds on the clock so far. */
  spentMs(): number;
  /** The call is over. */
  close(): void;
}

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
    else cancel({ kind: "query-timeout" });
  }

  return {
    signal: stop.signal,
    cancel,
    async spend(work) {
      since = performance.now();
      if (timer === undefined) arm();
      try {
        return await work();
      } finally {
        spent += performance.now() - since;
        since = undefined;
      }
    },
    spentMs: () => spent + (since === undefined ? 0 : performance.now() - since),
    close() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
