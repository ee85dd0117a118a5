import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";
import type { CallMarks } from "./call-marks.ts";

/** What becomes known of a call on its way, whoever made it. What is undefined is not known, or not yet. */
export interface ObservedCall {
  readonly surface: "rest" | "mcp";
  readonly endpoint: string;
  readonly requestId: string;
  /** Of the client; looked up only by those who need it. */
  readonly address: () => string;
  /** When it began; made only for those who need it, since that costs as much as counting it. */
  readonly time: () => Date;
  /** Milliseconds of a clock that nobody sets. */
  readonly startedAt: number;
  identity: Identity | undefined;
  raw: RawParams | undefined;
  rows: number | undefined;
  bytes: number | undefined;
  /** The name of the format of the answer. */
  format: string | undefined;
  cache: "hit" | "miss" | "stale" | undefined;
  /** Its answer was there from an earlier call, and nothing was run. */
  remembered: boolean;
  /** When it passed which point; undefined when nothing was run. */
  marks: CallMarks | undefined;
  /** The W3C trace context that came with it. */
  readonly traceparent: string | undefined;
}

/** What running an endpoint adds to what is known of a call. */
export type CallNotes = Pick<ObservedCall, "rows" | "cache"> & { readonly marks: CallMarks | undefined };

/** How a call ended. */
export interface CallEnd {
  /** That of HTTP, or what it would be; 499 when the client did not wait for the answer. */
  readonly status: number;
  readonly durationMs: number;
}

/** Is told of every call when it is over, however it ends: the audit, the metrics, the log of `eider dev`. */
export interface CallObserver {
  /** Whether it needs what was sent: then parameters are read even where the answer is known without. */
  readonly needsParameters: boolean;
  /** Called when a call begins. Returns headers for the response, names and values. */
  begun?(call: ObservedCall): readonly (readonly [string, string])[];
  ended(call: ObservedCall, end: CallEnd): void;
}

/** What is known of a call when it arrives. */
export type Arrival = Pick<ObservedCall, "surface" | "endpoint" | "requestId" | "address" | "raw" | "traceparent">;

/** A call that begins now. */
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
    remembered: false,
    marks: undefined,
    traceparent,
  };
  return observed;
}
