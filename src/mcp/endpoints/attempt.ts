import { type CallMarks, openMarks } from "../../calls/call-marks.ts";
import { type Deadline, openDeadline } from "../../calls/deadline.ts";
import type { CallObserver, ObservedCall } from "../../calls/observed-call.ts";
import type { Callee } from "../../calls/run-endpoint.ts";
import { withheldFailure } from "../../calls/withheld-failure.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { Report } from "../../events.ts";
import { type Failure, RequestFailure } from "../../failure.ts";
import type { RawParams } from "../../params/parameter.ts";
import type { RateLimiter } from "../../rate-limit/rate-limiter.ts";
import type { McpCall } from "../mcp-service.ts";
import { type ReportedFailure, tellFailure } from "./failure-text.ts";

/** What is called, by the name under which its calls are counted and told: `mcp-tool find_customer`. */
export interface Called {
  readonly label: string;
  readonly endpoint: Endpoint;
}

/** What calls have to work with. */
export interface Attempting {
  readonly callee: Callee;
  readonly rateLimiter: RateLimiter;
  readonly observers: readonly CallObserver[];
  readonly report: Report;
  readonly now: () => Date;
}

/** What becomes known of a call while it runs. */
export type Seen = Pick<ObservedCall, "rows" | "bytes" | "format" | "cache">;

/** A call whose time runs. */
export interface CallState {
  readonly deadline: Deadline;
  readonly seen: Seen;
  readonly marks: CallMarks | undefined;
}

export type Attempted<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly failure: Failure; readonly told: ReportedFailure };

/**
 * One call of an endpoint for an agent: let in, counted, timed, stopped when its client leaves, and told to those who
 * observe. Never rejects.
 */
export async function attempt<T>(
  called: Called,
  { call, raw }: { readonly call: McpCall; readonly raw: RawParams | undefined },
  { attempting, work }: { readonly attempting: Attempting; readonly work: (running: CallState) => Promise<T> },
): Promise<Attempted<T>> {
  const { callee, observers, report, now } = attempting;
  const seen: Seen = { rows: undefined, bytes: undefined, format: undefined, cache: undefined };
  const time = observers.length === 0 ? undefined : now();
  const startedAt = performance.now();
  const deadline = openDeadline(callee.limits.queryTimeoutMs);
  const marks = observers.length === 0 ? undefined : openMarks(deadline.spentMs);
  const stop = (): void => deadline.cancel(failureOf(call.signal.reason));
  if (call.signal.aborted) stop();
  else call.signal.addEventListener("abort", stop);
  let attempted: Attempted<T>;
  try {
    await admit(called, call, attempting);
    attempted = { kind: "done", value: await work({ deadline, seen, marks }) };
  } catch (thrown) {
    const error = withheldFailure(thrown, raw, callee.isRedacted);
    const failure = failureOf(error);
    const { requestId, traceparent } = call;
    if (failure.kind === "internal") report({ kind: "unexpected", requestId, error });
    const cause = error instanceof Error ? error.cause : undefined;
    // Whoever left does not wait for an answer, and nothing went wrong.
    if (failure.kind !== "cancelled")
      report({ kind: "call-failed", requestId, endpoint: called.label, failure, cause, traceparent });
    attempted = { kind: "failed", failure, told: tellFailure(failure, callee.limits) };
  } finally {
    call.signal.removeEventListener("abort", stop);
    deadline.close();
  }
  if (time !== undefined) {
    const observed: ObservedCall = {
      surface: "mcp",
      endpoint: called.label,
      requestId: call.requestId,
      address: () => call.address,
      time: () => time,
      startedAt,
      identity: call.identity,
      raw,
      marks,
      traceparent: call.traceparent,
      ...seen,
    };
    const status = attempted.kind === "done" ? 200 : attempted.told.status;
    for (const observer of observers) observer.ended(observed, { status, durationMs: performance.now() - startedAt });
  }
  return attempted;
}

function failureOf(error: unknown): Failure {
  return error instanceof RequestFailure ? error.failure : { kind: "internal" };
}

/** The gate has let the caller in already, where there is one: a query that is protected is not opened by a way around it. */
function admit(
  { label, endpoint }: Called,
  { identity, address, signal }: McpCall,
  { rateLimiter }: Attempting,
): Promise<void> | undefined {
  if (signal.aborted) throw new RequestFailure(failureOf(signal.reason));
  if (endpoint.auth !== undefined && identity.size === 0) {
    throw new RequestFailure({ kind: "unauthorized", scheme: endpoint.auth.kind === "basic" ? "basic" : "bearer" });
  }
  return endpoint.rateLimit === undefined ? undefined : count();

  async function count(): Promise<void> {
    if (endpoint.rateLimit === undefined) return;
    const who = { address, username: identity.get("username")?.text };
    const { allowed, retryAfterSeconds } = await rateLimiter.take(label, endpoint.rateLimit, who);
    if (!allowed) throw new RequestFailure({ kind: "too-many-requests", retryAfterSeconds });
  }
}
