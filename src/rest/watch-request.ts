import type { ObservedCall } from "../calls/observed-call.ts";
import { CLIENT_CLOSED } from "../failure-response.ts";
import type { HttpExchange } from "./exchange.ts";

/** Receives every request when its response has ended, including those that reach no endpoint. */
export type RequestWatcher = (finished: FinishedRequest) => void;

export interface FinishedRequest {
  readonly method: string;
  /** As sent, without its query. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Undefined when the request reached no endpoint. */
  readonly call: ObservedCall | undefined;
}

/** Watches one request. The returned function must be called with the endpoint call that the request starts. */
export function watchRequest(exchange: HttpExchange, watcher: RequestWatcher): (call: ObservedCall) => void {
  const { method = "", url = "" } = exchange.request;
  const from = performance.now();
  let call: ObservedCall | undefined;
  whenClosed(exchange, (status) => {
    const [path = ""] = url.split("?", 1);
    watcher({ method, path, status, ms: performance.now() - from, call });
  });
  return (started) => {
    call = started;
  };
}

/** Reports the status when the response has been sent, or the client has disconnected. */
export function whenClosed({ response }: HttpExchange, onClosed: (status: number) => void): void {
  response.once("close", () => onClosed(response.writableFinished ? response.statusCode : CLIENT_CLOSED));
}
