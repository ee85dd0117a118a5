import type { StopSignal } from "../engines/engine.ts";

/** Stops waiting when the call is cancelled. The work continues for other calls. */
export function untilAborted<T>(work: Promise<T> | T, signal: StopSignal): Promise<T> | T {
  if (!(work instanceof Promise)) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
