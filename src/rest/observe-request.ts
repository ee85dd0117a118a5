import type { ObservedCall } from "../calls/observed-call.ts";
import { CLIENT_CLOSED } from "../failure-response.ts";
import type { HttpExchange } from "./exchange.ts";

/** Receives every request when its response has ended, including those that reach no endpoint. */
export type RequestObserver = (finished: FinishedRequest) => void;

export interface FinishedRequest {
  readonly method: string;
  /** As sent, without its query. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Undefined when the request reached no endpoint. */
  readonly call: ObservedCall | undefined;
}

/** Observes one request. If it reaches an endpoint, pass the call to the returned function. */
export function observeRequest(exchange: HttpExchange, observer: RequestObserver): (call: ObservedCall) => void {
  const { method = "", url = "" } = exchange.request;
  const from = performance.now();
  let call: ObservedCall | undefined;
  whenClosed(exchange, (status) => {
    const [path = ""] = url.split("?", 1);
    observer({ method, path, status, ms: performance.now() - from, call });
  });
  return (started) => {
    call = started;
  };
}

/** Calls `onClosed` once: with the status if the whole response was sent, with 499 if the client disconnected before. */
export function whenClosed({ response }: HttpExchange, onClosed: (status: number) => void): void {
  response.once("close", () => onClosed(response.writableFinished ? response.statusCode : CLIENT_CLOSED));
}
