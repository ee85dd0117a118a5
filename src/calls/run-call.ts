import type { AuthenticationResult } from "../auth/authenticator.ts";
import type { Identity } from "../auth/identity.ts";
import type { Report } from "../events.ts";
import { andThen } from "../eventually.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import { failureResponse } from "../failure-response.ts";
import type { RateLimiter, RateState } from "../rate-limit/rate-limiter.ts";
import { admit, type RateLimitTarget } from "./admit.ts";
import { type Deadline, openDeadline } from "./deadline.ts";
import type { CallObserver, ObservedCall } from "./observed-call.ts";
import { redactFailure } from "./redact-failure.ts";
import type { CallServices } from "./run-endpoint.ts";

/** The part of a call that differs between surfaces (REST, MCP). It only translates between its protocol and the call. */
export interface CallSurface<T> {
  readonly observed: ObservedCall;
  readonly rateLimitTarget: RateLimitTarget;
  authenticate(): AuthenticationResult | Promise<AuthenticationResult>;
  /** Receives the client's rate limit state, if there is a limit. */
  readonly onRateLimitState?: ((state: RateState) => void) | undefined;
  /** Receives headers that observers add to the response. */
  readonly addHeaders?: (headers: readonly (readonly [string, string])[]) => void;
  /** Why the call was stopped. Undefined while the client waits for its result. */
  stopReason(): Failure | undefined;
  /** Calls `stop` when the client disconnects or the service shuts down. Returns a function that unsubscribes. */
  onStop(stop: (failure: Failure) => void): () => void;
  /** Reads the input, runs the endpoint and sends the result. Slow work runs in `withDeadline`. */
  respond(call: AdmittedCall): T | Promise<T>;
  fail(failure: Failure): T;
  /** How much of the response was sent before a failure. If absent, nothing was sent. */
  readonly progress?: () => ResponseProgress;
  /**
   * Calls `onSent` with the status once the response has ended. `isSent`: it has already ended. Without `whenSent`, the response
   * ends with the call.
   */
  readonly whenSent?: (onSent: (status: number) => void, isSent: boolean) => void;
}

export type ResponseProgress = "none" | "begun" | "complete";

export interface AdmittedCall {
  readonly identity: Identity;
  /** Runs work under the deadline of the call. */
  withDeadline<T>(work: (deadline: Deadline) => Promise<T>): Promise<T>;
}

/** What the calls of every surface need. */
export interface CallContext {
  readonly services: CallServices;
  readonly rateLimiter: Pick<RateLimiter, "take">;
  readonly observers: readonly CallObserver[];
  readonly report: Report;
  readonly now: () => Date;
}

/**
 * Runs a call to an endpoint, over REST or MCP: authenticates, applies the rate limit and the deadline, responds, and notifies
 * observers. Never rejects. Returns a promise only if something has to be awaited.
 */
export function runCall<T>(surface: CallSurface<T>, context: CallContext): T | Promise<T> {
  const { observed, rateLimitTarget, onRateLimitState, whenSent } = surface;
  const { services, rateLimiter, observers, report } = context;
  const end = (status: number): void => {
    const durationMs = performance.now() - observed.startedAt;
    for (const observer of observers) observer.onEnd(observed, { status, durationMs });
  };
  let isSubscribedToEnd = observers.length === 0;
  const subscribeToEnd = (isSent: boolean): void => {
    if (!isSubscribedToEnd) whenSent?.(end, isSent);
    isSubscribedToEnd = true;
  };
  const withDeadline = async <R>(work: (deadline: Deadline) => Promise<R>): Promise<R> => {
    subscribeToEnd(false);
    const deadline = openDeadline(services.limits.queryTimeoutMs);
    const unsubscribe = surface.onStop(deadline.cancel);
    try {
      return await work(deadline);
    } finally {
      unsubscribe();
      deadline.close();
    }
  };
  const finish = (value: T): T => {
    if (whenSent === undefined) end(200);
    return value;
  };
  const fail = (thrown: unknown): T => {
    subscribeToEnd(false);
    const error = redactFailure(thrown, observed.raw, services.isRedacted);
    const { requestId, endpoint, traceparent } = observed;
    const failure = reportFailure(error, { requestId, endpoint, traceparent, progress: surface.progress?.() }, report);
    const value = surface.fail(failure);
    if (whenSent === undefined) end(failureResponse(failure).status);
    return value;
  };
  try {
    for (const observer of observers) {
      const headers = observer.onBegin?.(observed);
      if (headers !== undefined) surface.addHeaders?.(headers);
    }
    const admission = { rateLimiter, address: observed.address, onRateLimitState };
    const admitted = andThen(surface.authenticate(), (result) => admit(result, rateLimitTarget, admission));
    // The client may disconnect during authentication.
    if (admitted instanceof Promise) subscribeToEnd(false);
    const response = andThen(admitted, (identity) => {
      const stopped = surface.stopReason();
      if (stopped !== undefined) throw new RequestFailure(stopped);
      observed.identity = identity;
      return surface.respond({ identity, withDeadline });
    });
    subscribeToEnd(!(response instanceof Promise));
    return response instanceof Promise ? response.then(finish, fail) : finish(response);
  } catch (error) {
    return fail(error);
  }
}

interface FailedCall {
  readonly requestId: string;
  /** Empty when the request reached no endpoint. */
  readonly endpoint: string;
  readonly traceparent?: string | undefined;
  readonly progress: ResponseProgress | undefined;
}

/**
 * Reports a failed call, unless the client disconnected or the response was already complete. Internal failures are always
 * reported. Returns the failure.
 */
export function reportFailure(error: unknown, { progress, ...call }: FailedCall, report: Report): Failure {
  const failure = failureOf(error);
  const { requestId, endpoint } = call;
  if (failure.kind === "internal") report({ kind: "unexpected", requestId, error });
  if (failure.kind === "cancelled" || progress === "complete") return failure;
  if (progress === "begun") report({ kind: "call-cut", requestId, endpoint, failure });
  else report({ kind: "call-failed", ...call, failure, cause: error instanceof Error ? error.cause : undefined });
  return failure;
}

export function failureOf(error: unknown): Failure {
  return error instanceof RequestFailure ? error.failure : { kind: "internal" };
}
