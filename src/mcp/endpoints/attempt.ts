import { openMarks } from "../../calls/call-marks.ts";
import type { Deadline } from "../../calls/deadline.ts";
import { type ObservedCall, observeCall } from "../../calls/observed-call.ts";
import { type CallContext, failureOf, runCall } from "../../calls/run-call.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { Failure } from "../../failure.ts";
import { failureResponse } from "../../failure-response.ts";
import type { RawParams } from "../../params/parameter.ts";
import type { McpCall } from "../mcp-service.ts";

/** An endpoint, and the name under which its calls are counted and logged, such as `mcp-tool find_customer`. */
export interface CallTarget {
  readonly label: string;
  readonly endpoint: Endpoint;
}

/** A running call. */
export interface CallState {
  readonly deadline: Deadline;
  readonly observed: ObservedCall;
}

export type AttemptResult<T> =
  | { readonly kind: "done"; readonly value: T }
  /** `advice` is for a language model. */
  | { readonly kind: "failed"; readonly failure: Failure; readonly advice: string };

interface Attempt<T> {
  readonly call: McpCall;
  readonly raw: RawParams | undefined;
  readonly work: (state: CallState) => Promise<T>;
}

/** Runs a call of an endpoint for an MCP client. Never rejects: a failure is a result. */
export async function attempt<T>(
  { label, endpoint }: CallTarget,
  { call, raw, work }: Attempt<T>,
  context: CallContext,
): Promise<AttemptResult<T>> {
  const { requestId, identity, signal, traceparent } = call;
  const address = (): string => call.address;
  const observed = observeCall({ surface: "mcp", endpoint: label, requestId, address, raw, traceparent }, context.now);
  observed.identity = identity;
  return await runCall<AttemptResult<T>>(
    {
      observed,
      rateLimitTarget: { name: label, rateLimit: endpoint.rateLimit },
      // The method is already authorized. A protected endpoint requires an identity even if the method does not.
      authenticate() {
        if (endpoint.auth === undefined || identity.size > 0) return { kind: "identity", identity };
        const scheme = endpoint.auth.kind === "basic" ? "basic" : "bearer";
        return { kind: "refused", failure: { kind: "unauthorized", scheme } };
      },
      stopReason: () => (signal.aborted ? failureOf(signal.reason) : undefined),
      onStop(stop) {
        const abort = (): void => stop(failureOf(signal.reason));
        signal.addEventListener("abort", abort);
        return () => signal.removeEventListener("abort", abort);
      },
      respond: ({ withDeadline }) =>
        withDeadline(async (deadline) => {
          observed.marks = openMarks(deadline.spentMs);
          return { kind: "done", value: await work({ deadline, observed }) };
        }),
      fail: (failure) => ({ kind: "failed", failure, advice: failureResponse(failure).advice }),
    },
    context,
  );
}
