import duckdb from "@duckdb/node-bindings";
import type { StopSignal } from "../../engine.ts";

/**
 * Stops a read or write early, when the caller's signal aborts or the engine closes. It does one thing at a time,
 * so one listener is enough, and the (slow) listener on the signal is added only once.
 */
export interface Cancellation {
  /** Throws the reason once cancelled. */
  check(): void;
  /** Sets the listener, which is called with the reason on cancellation, or at once if already cancelled. Undefined removes it. */
  listen(listener: ((reason: unknown) => void) | undefined): void;
  cancel(reason: unknown): void;
  /** Removes all listeners when the read or write is over. */
  end(): void;
}

/** For work that runs to its end. */
export const NEVER_CANCELLED: Cancellation = { check() {}, listen() {}, cancel() {}, end() {} };

export function cancellationOf(signal: StopSignal, onEnd: () => void = () => {}): Cancellation {
  let cause: { readonly reason: unknown } | undefined = signal.aborted ? { reason: signal.reason } : undefined;
  let listener: ((reason: unknown) => void) | undefined;

  function cancel(reason: unknown): void {
    if (cause !== undefined) return;
    cause = { reason };
    listener?.(reason);
  }
  const onAbort = (): void => cancel(signal.reason);
  if (cause === undefined) signal.addEventListener("abort", onAbort);

  return {
    check() {
      if (cause !== undefined) throw cause.reason;
    },
    listen(next) {
      listener = next;
      if (cause !== undefined) listener?.(cause.reason);
    },
    cancel,
    end() {
      listener = undefined;
      signal.removeEventListener("abort", onAbort);
      onEnd();
    },
  };
}

/** DuckDB forgets an interrupt that arrives before the query has started on its thread, so it is repeated. */
export const INTERRUPT_INTERVAL_MS = 5;

/**
 * Runs a native call, and interrupts it on cancellation. Settles only after the call has settled, so that an
 * interrupt never hits the next user of the connection.
 */
export async function interruptible<T>(
  connection: duckdb.Connection,
  cancellation: Cancellation,
  call: () => Promise<T>,
): Promise<T> {
  const stopInterrupting = interruptOnCancel(connection, cancellation);
  try {
    return await call();
  } finally {
    stopInterrupting();
    // The reason of a cancellation replaces the result, or DuckDB's error.
    cancellation.check();
  }
}

/** Interrupts native calls on a connection when cancelled, until the returned function is called. Throws if already cancelled. */
export function interruptOnCancel(connection: duckdb.Connection, cancellation: Cancellation): () => void {
  cancellation.check();
  let repeat: NodeJS.Timeout | undefined;
  cancellation.listen(() => {
    duckdb.interrupt(connection);
    repeat = setInterval(() => duckdb.interrupt(connection), INTERRUPT_INTERVAL_MS);
  });
  return () => {
    cancellation.listen(undefined);
    clearInterval(repeat);
  };
}

/** Waits for shared work: when cancelled, only this caller stops waiting. */
export function waitUnlessCancelled<T>(cancellation: Cancellation, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    cancellation.listen(reject);
    // Remove the listener before the caller continues: its next step sets its own.
    work.finally(() => cancellation.listen(undefined)).then(resolve, reject);
  });
}
