import type { StopSignal } from "./engine.ts";

/** A signal and the function that aborts it. */
export interface Stop {
  readonly signal: StopSignal;
  abort(reason: unknown): void;
}

export function openStop(): Stop {
  const listeners = new Set<() => void>();
  let cause: { readonly reason: unknown } | undefined;
  return {
    signal: {
      get aborted() {
        return cause !== undefined;
      },
      get reason() {
        return cause?.reason;
      },
      addEventListener: (_type, listener) => listeners.add(listener),
      removeEventListener: (_type, listener) => listeners.delete(listener),
    },
    abort(reason) {
      if (cause !== undefined) return;
      cause = { reason };
      for (const listener of [...listeners]) listener();
    },
  };
}

/** For Eider's own work, which no client waits for. */
export const NEVER_STOPPED: StopSignal = {
  aborted: false,
  reason: undefined,
  addEventListener() {},
  removeEventListener() {},
};
