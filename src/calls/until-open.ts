import type { Endpoint } from "../endpoint/endpoint.ts";
import type { StopSignal } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { ConnectionStatus } from "./connection-status.ts";

export interface OpeningCall {
  readonly endpoint: Endpoint;
  readonly connectionStatus: Pick<ConnectionStatus, "openingFailure">;
  readonly signal: StopSignal;
}

/** Waits for the connections of an endpoint. Stops waiting when the call is cancelled; the work continues for other calls. */
export function untilOpen<T>(
  work: Promise<T> | T,
  { endpoint, connectionStatus, signal }: OpeningCall,
): Promise<T> | T {
  if (!(work instanceof Promise)) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      const { reason } = signal;
      const isTimeout = reason instanceof RequestFailure && reason.failure.kind === "query-timeout";
      // No query took too long: none has started.
      reject((isTimeout && connectionStatus.openingFailure(endpoint.connections)) || reason);
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
