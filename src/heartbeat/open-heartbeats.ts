import { anonymous } from "../auth/identity.ts";
import { openDeadline } from "../calls/deadline.ts";
import { redactFailure } from "../calls/redact-failure.ts";
import { type CallServices, runEndpoint } from "../calls/run-endpoint.ts";
import type { HeartbeatConfig } from "../config/heartbeat.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Report } from "../events.ts";
import { type Failure, logMessage, RequestFailure } from "../failure.ts";
import type { After } from "../time-limit.ts";

/** An endpoint with a heartbeat. */
export interface HeartbeatEndpoint {
  readonly endpoint: Endpoint;
  readonly heartbeat: HeartbeatConfig;
}

/** What heartbeats run, and how often. */
export interface HeartbeatInput {
  readonly services: CallServices;
  readonly endpoints: readonly HeartbeatEndpoint[];
  /** Undefined if heartbeats are disabled. */
  readonly intervalMs: number | undefined;
}

/** The results of the runs of an endpoint. */
export interface HeartbeatStatus {
  readonly endpoint: string;
  /** Whether the last run worked. Undefined until the first run has ended. */
  readonly works: boolean | undefined;
  /** The duration of the last run. */
  readonly lastMs: number | undefined;
  readonly runs: number;
  readonly failures: number;
}

/** Runs endpoints on a schedule, to check whether they still work. */
export interface Heartbeats {
  /** Switches to other endpoints after a reload. Keeps the status of those that still exist. */
  use(input: HeartbeatInput): void;
  /** Cancels the current runs, and starts none until the returned function is called. */
  pause(): () => void;
  /** Starts no more runs and cancels the current ones. */
  stop(): void;
  statuses(): readonly HeartbeatStatus[];
}

export interface HeartbeatOptions {
  readonly after: After;
  /** Monotonic time in milliseconds. */
  readonly now: () => number;
  readonly report: Report;
}

/** Limited, so that hundreds of heartbeats do not delay clients. */
const MAX_CONCURRENT_RUNS = 4;

const NEVER_RUN = { works: undefined, lastMs: undefined, runs: 0, failures: 0 };

export function openHeartbeats(first: HeartbeatInput, { after, now, report }: HeartbeatOptions): Heartbeats {
  const known = new Map<string, HeartbeatStatus>();
  const running = new Set<(failure: Failure) => void>();
  let input = first;
  let cancel: (() => void) | undefined;
  let beating = false;
  let held = false;
  let stopped = false;

  function schedule(ms: number): void {
    cancel?.();
    cancel = after(ms, () => void beat());
  }

  /** Runs all endpoints once. The next round starts one interval after this one started, but not before this one has ended. */
  async function beat(): Promise<void> {
    const { intervalMs } = input;
    if (beating || held || stopped || intervalMs === undefined || input.endpoints.length === 0) return;
    beating = true;
    const from = now();
    const waiting = [...input.endpoints];
    const { services } = input;
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !held && !stopped; next = waiting.shift()) {
        await run(next, services);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_RUNS }, work));
    beating = false;
    if (!stopped && !held) schedule(Math.max(0, from + intervalMs - now()));
  }

  async function run({ endpoint, heartbeat }: HeartbeatEndpoint, services: CallServices): Promise<void> {
    const from = now();
    const deadline = openDeadline(services.limits.queryTimeoutMs);
    running.add(deadline.cancel);
    let error: unknown;
    try {
      const observed = { rows: undefined, cache: undefined, marks: undefined };
      const call = { raw: heartbeat.raw, errors: [], identity: anonymous, deadline, observed };
      const outcome = await runEndpoint(endpoint, call, services);
      if (outcome.kind === "rows") {
        // The first rows are sufficient. The query may return millions.
        try {
          await outcome.rows.next();
        } finally {
          await outcome.rows.close();
        }
      }
    } catch (thrown) {
      error = redactFailure(thrown, heartbeat.raw, services.isRedacted);
    } finally {
      running.delete(deadline.cancel);
      deadline.close();
    }
    // Cancelled runs do not count, nor do runs of endpoints that a reload removed.
    if (stopped || held || !input.endpoints.some((one) => one.endpoint.name === endpoint.name)) return;
    recordRun(endpoint.name, now() - from, error);
  }

  function recordRun(endpoint: string, lastMs: number, error: unknown): void {
    const before = known.get(endpoint) ?? NEVER_RUN;
    const works = error === undefined;
    known.set(endpoint, {
      endpoint,
      works,
      lastMs,
      runs: before.runs + 1,
      failures: before.failures + Number(!works),
    });
    if (!works && before.works !== false) report({ kind: "heartbeat-failed", endpoint, message: messageOf(error) });
    if (works && before.works === false) report({ kind: "heartbeat-works", endpoint });
  }

  schedule(0);
  return {
    use(next) {
      input = next;
      const names = new Set(next.endpoints.map(({ endpoint }) => endpoint.name));
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      // A round in progress schedules the next one itself.
      if (!beating && !held && !stopped) schedule(0);
    },
    pause() {
      held = true;
      cancel?.();
      for (const end of running) end({ kind: "draining" });
      return () => {
        held = false;
        if (!beating && !stopped) schedule(0);
      };
    },
    stop() {
      stopped = true;
      cancel?.();
      for (const end of running) end({ kind: "draining" });
    },
    statuses: () =>
      input.intervalMs === undefined
        ? []
        : input.endpoints.map(({ endpoint: { name } }) => known.get(name) ?? { endpoint: name, ...NEVER_RUN }),
  };
}

/** The message of a failure, or its kind. Contains no values of the request. */
function messageOf(error: unknown): string {
  if (!(error instanceof RequestFailure)) return "unexpected error";
  const { failure } = error;
  if (failure.kind === "query-failed") return logMessage(failure);
  return failure.kind === "connection-down" ? `connection '${failure.connection}' cannot be reached` : failure.kind;
}
