import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";
import type { CallMarks } from "./call-marks.ts";

/** What observers can see of a call. Undefined values are unknown, or not known yet. */
export interface ObservedCall {
  readonly surface: "rest" | "mcp";
  readonly endpoint: string;
  readonly requestId: string;
  /** The client's address, looked up on demand. */
  readonly address: () => string;
  /** The start time, computed on demand because a Date is costly. */
  readonly time: () => Date;
  /** Milliseconds of `performance.now()`. */
  readonly startedAt: number;
  identity: Identity | undefined;
  raw: RawParams | undefined;
  rows: number | undefined;
  bytes: number | undefined;
  /** The name of the response format. */
  format: string | undefined;
  cache: "hit" | "miss" | "stale" | undefined;
  /** The response came from the response cache, so no query ran. */
  fromResponseCache: boolean;
  /** Undefined when no query ran. */
  marks: CallMarks | undefined;
  /** The W3C trace context of the request. */
  readonly traceparent: string | undefined;
}

/** The part of an ObservedCall that running an endpoint fills in. */
export type CallNotes = Pick<ObservedCall, "rows" | "cache"> & { readonly marks: CallMarks | undefined };

/** How a call ended. */
export interface CallEnd {
  /** The HTTP status, or its equivalent. 499 if the client disconnected. */
  readonly status: number;
  readonly durationMs: number;
}

/** Receives every call when it ends, such as the audit, the metrics and the log of `eider dev`. */
export interface CallObserver {
  /** Whether parameters must be read even if the response is cached. */
  readonly needsParameters: boolean;
  /** Called when a call begins. Returns headers for the response, names and values. */
  onBegin?(call: ObservedCall): readonly (readonly [string, string])[];
  onEnd(call: ObservedCall, end: CallEnd): void;
}

/** What is known about a call when it arrives. */
export type Arrival = Pick<ObservedCall, "surface" | "endpoint" | "requestId" | "address" | "raw" | "traceparent">;

/** Starts observing a call. */
export function observeCall({ surface, endpoint, requestId, address, raw, traceparent }: Arrival, now: () => Date) {
  const startedAt = performance.now();
  const observed: ObservedCall = {
    surface,
    endpoint,
    requestId,
    address,
    time: () => new Date(now().getTime() - (performance.now() - startedAt)),
    startedAt,
    identity: undefined,
    raw,
    rows: undefined,
    bytes: undefined,
    format: undefined,
    cache: undefined,
    fromResponseCache: false,
    marks: undefined,
    traceparent,
  };
  return observed;
}
