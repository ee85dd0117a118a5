import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";

/** What becomes known of a call on its way, whoever made it. What is undefined is not known, or not yet. */
export interface ObservedCall {
  readonly surface: "rest" | "mcp";
  readonly endpoint: string;
  readonly requestId: string;
  /** Of the client; looked up only by those who need it. */
  readonly address: () => string;
  readonly time: Date;
  /** Milliseconds of a clock that nobody sets. */
  readonly startedAt: number;
  identity: Identity | undefined;
  raw: RawParams | undefined;
  rows: number | undefined;
  bytes: number | undefined;
  /** The name of the format of the answer. */
  format: string | undefined;
  cache: "hit" | "miss" | "stale" | undefined;
}

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
  ended(call: ObservedCall, end: CallEnd): void;
}
