import type { StopSignal } from "../engines/engine.ts";
import { type Failure, RequestFailure } from "../failure.ts";

/** The time that a call may spend in the database, and the ways in which it can be ended before. */
export interface Deadline {
  /** Aborted with a RequestFailure as its reason. */
  readonly signal: StopSignal;
  /** Ends the call now. The first reason counts. */
  cancel(failure: Failure): void;
  /** Runs work on the clock. Waiting for a slow client does not count: it is not the query that is slow. */
  spend<T>(work: () => Promise<T>): Promise<T>;
}

/** Opens the clock of one call. */
export function openDeadline(timeoutMs: number): Deadline {
  const listeners = new Set<() => void>();
  let reason: RequestFailure | undefined;
  let left = timeoutMs;
  const cancel = (failure: Failure): void => {
    if (reason !== undefined) return;
    reason = new RequestFailure(failure);
    for (const listener of [...listeners]) listener();
  };
  return {
    signal: {
      get aborted() {
        return reason !== undefined;
      },
      get reason() {
        return reason;
      },
      addEventListener: (_type, listener) => listeners.add(listener),
      removeEventListener: (_type, listener) => listeners.delete(listener),
    },
    cancel,
    async spend(work) {
      const started = performance.now();
      const timer = setTimeout(() => cancel({ kind: "query-timeout" }), left);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        left = Math.max(1, left - (performance.now() - started));
      }
    },
  };
}
