import type { CallEnd, CallObserver, ObservedCall } from "../calls/observed-call.ts";
import type { Rows } from "../engines/rows.ts";
import { clientOf, type TrustedProxies } from "../http/forwarded.ts";
import type { WholeResponse } from "./response/whole-response.ts";
import type { HttpExchange } from "./send-failure.ts";

/** Those who are told of calls. */
export interface Watch {
  readonly observers: readonly CallObserver[];
  /** Somebody needs what was sent, even where the answer is known without. */
  readonly needsParameters: boolean;
  readonly proxies: TrustedProxies;
  readonly now: () => Date;
  /** Hears of every request, those that reach no endpoint too. */
  readonly answered: ((answered: FinishedRequest) => void) | undefined;
  /** Whether answers say how long their parts took. */
  readonly tellsTimes: boolean;
}

/** A request whose answer is over. */
export interface FinishedRequest {
  readonly method: string;
  /** As it was sent, without its query. */
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Of an endpoint. */
  readonly call: ObservedCall | undefined;
}

/** Watches one request; what it gives back is told which call it became. */
export function watchRequest(
  { request, response }: HttpExchange,
  answered: (answered: FinishedRequest) => void,
): (call: ObservedCall | undefined) => void {
  const from = performance.now();
  let call: ObservedCall | undefined;
  response.once("close", () => {
    const status = response.writableFinished ? response.statusCode : LEFT;
    const { method = "", url = "" } = request;
    const [path = ""] = url.split("?", 1);
    answered({ method, path, status, ms: performance.now() - from, call });
  });
  return (known) => {
    call = known;
  };
}

/** The status that proxies log for a client that did not wait. */
const LEFT = 499;

/** A call over REST that somebody watches. */
export interface WatchedCall extends ObservedCall {
  /** Its end will be told when its connection is done with it. */
  isFollowed: boolean;
}

/** A call that begins; its end is told by `followCall` or by `endAtOnce`. Undefined when nobody watches. */
export function observeCall(
  endpoint: string,
  { request, response, requestId }: HttpExchange,
  { observers, answered, proxies, now, tellsTimes }: Watch,
): WatchedCall | undefined {
  if (observers.length === 0 && answered === undefined && !tellsTimes) return undefined;
  const startedAt = performance.now();
  const call: WatchedCall = {
    isFollowed: false,
    surface: "rest",
    endpoint,
    requestId,
    address: () => clientOf(request, proxies).address,
    time: () => new Date(now().getTime() - (performance.now() - startedAt)),
    startedAt,
    identity: undefined,
    raw: undefined,
    rows: undefined,
    bytes: undefined,
    format: undefined,
    cache: undefined,
    remembered: false,
    marks: undefined,
    traceparent: request.headers["traceparent"]?.toString(),
  };
  for (const observer of observers) {
    if (observer.begun === undefined) continue;
    for (const [name, value] of observer.begun(call)) response.setHeader(name, value);
  }
  return call;
}

/** Watches a call until its answer has gone out, or its client has gone. */
export function followCall(call: WatchedCall | undefined, { request, response }: HttpExchange, watch: Watch): void {
  if (call === undefined || call.isFollowed) return;
  call.isFollowed = true;
  const { socket } = request;
  const bytesBefore = socket.bytesWritten;
  response.once("close", () => {
    call.bytes = socket.bytesWritten - bytesBefore;
    notifyCallEnd(call, response.writableFinished ? response.statusCode : LEFT, watch);
  });
}

/** The answer was known and has been sent: to wait until it has arrived would cost as much as everything that is counted. */
export function endAtOnce(call: WatchedCall | undefined, { response }: HttpExchange, watch: Watch): void {
  if (call === undefined || call.isFollowed) return;
  notifyCallEnd(call, response.statusCode, watch);
}

function notifyCallEnd(call: ObservedCall, status: number, { observers }: Watch): void {
  const end: CallEnd = { status, durationMs: performance.now() - call.startedAt };
  for (const observer of observers) observer.ended(call, end);
}

/** What is known of answers that may be sent again. */
const known = new WeakMap<WholeResponse, Pick<ObservedCall, "rows" | "format">>();

export function keepKnown(answer: WholeResponse, { rows, format }: ObservedCall): void {
  known.set(answer, { rows, format });
}

export function recallKnown(answer: WholeResponse, call: ObservedCall): void {
  const { rows, format } = known.get(answer) ?? {};
  call.rows = rows;
  call.format = format;
  call.bytes = answer.size;
  call.cache = answer.cached?.state;
  call.remembered = true;
}

/** The same rows, counted as they go by. */
export function countRows(rows: Rows, call: ObservedCall): Rows {
  call.rows = 0;
  return {
    ...rows,
    async next() {
      const chunk = await rows.next();
      if (chunk !== undefined) call.rows = (call.rows ?? 0) + chunk.rows;
      return chunk;
    },
  };
}

/** Of the answer to a write, which always begins with it. */
export function countWritten(body: string, call: ObservedCall): void {
  const [, count] = /^\{"rows_affected":(\d+)/.exec(body) ?? [];
  call.rows = count === undefined ? undefined : Number(count);
}
