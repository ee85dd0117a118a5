import type { StopSignal } from "../engine.ts";

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

/** Waits for shared work: when cancelled, only this caller stops waiting. */
export function waitUnlessCancelled<T>(cancellation: Cancellation, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    cancellation.listen(reject);
    // Remove the listener before the caller continues: its next step sets its own.
    work.finally(() => cancellation.listen(undefined)).then(resolve, reject);
  });
}
