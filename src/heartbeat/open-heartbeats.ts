import { anonymous } from "../auth/identity.ts";
import type { After } from "../cache/schedule.ts";
import { openDeadline } from "../calls/deadline.ts";
import { type Callee, runEndpoint } from "../calls/run-endpoint.ts";
import { withheldFailure } from "../calls/withheld-failure.ts";
import type { HeartbeatConfig } from "../config/heartbeat.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Report } from "../events.ts";
import { type Failure, logMessage, RequestFailure } from "../failure.ts";

/** An endpoint that is run regularly, and with what. */
export interface Beating {
  readonly endpoint: Endpoint;
  readonly heartbeat: HeartbeatConfig;
}

/** Whose endpoints are run. */
export interface Heart {
  readonly callee: Callee;
  readonly beating: readonly Beating[];
  /** Undefined: never. */
  readonly intervalMs: number | undefined;
}

/** How the last run of an endpoint went. */
export interface HeartbeatStatus {
  readonly endpoint: string;
  /** Undefined until the first run is over. */
  readonly works: boolean | undefined;
  /** Milliseconds that the last run took. */
  readonly lastMs: number | undefined;
  readonly runs: number;
  readonly failures: number;
}

/** Runs the reads of endpoints by the clock, to find out whether they still work. decisions 10. */
export interface Heartbeats {
  /** Runs those of another state from now on; what is known of endpoints that it still has stays known. */
  use(heart: Heart): void;
  /** No new runs, until what it gives back is called. */
  hold(): () => void;
  /** No more runs; ends those under way. */
  stop(): void;
  statuses(): readonly HeartbeatStatus[];
}

export interface HeartbeatOptions {
  readonly after: After;
  /** Milliseconds of a clock that nobody sets. */
  readonly now: () => number;
  readonly report: Report;
}

/** A few at a time: a project with hundreds of them must not stand in the way of those who call. */
const AT_ONCE = 4;

interface HeartbeatState {
  works: boolean | undefined;
  lastMs: number | undefined;
  runs: number;
  failures: number;
}

export function openHeartbeats(first: Heart, { after, now, report }: HeartbeatOptions): Heartbeats {
  const known = new Map<string, HeartbeatState>();
  const running = new Set<(failure: Failure) => void>();
  let heart = first;
  let cancel: (() => void) | undefined;
  let beating = false;
  let held = false;
  let stopped = false;

  function schedule(ms: number): void {
    cancel?.();
    cancel = after(ms, () => void beat());
  }

  /** One round over all endpoints. The next begins an interval after this one began, and never before it is over. */
  async function beat(): Promise<void> {
    const { intervalMs } = heart;
    if (beating || held || stopped || intervalMs === undefined || heart.beating.length === 0) return;
    beating = true;
    const from = now();
    const waiting = [...heart.beating];
    const { callee } = heart;
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !held && !stopped; next = waiting.shift()) {
        await run(next, callee);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    beating = false;
    if (!stopped && !held) schedule(Math.max(0, from + intervalMs - now()));
  }

  async function run({ endpoint, heartbeat }: Beating, callee: Callee): Promise<void> {
    const from = now();
    const deadline = openDeadline(callee.limits.queryTimeoutMs);
    running.add(deadline.cancel);
    let error: unknown;
    try {
      const call = { raw: heartbeat.raw, errors: [], identity: anonymous, deadline };
      const outcome = await runEndpoint(endpoint, call, callee);
      if (outcome.kind === "rows") {
        // The first rows tell enough: a query that would give millions is left there.
        try {
          await deadline.spend(() => outcome.rows.next());
        } finally {
          await outcome.rows.close();
        }
      }
    } catch (failed) {
      error = withheldFailure(failed, heartbeat.raw, callee.isRedacted);
    } finally {
      running.delete(deadline.cancel);
      deadline.close();
    }
    // What ended because the service does, or because its database is opened anew, says nothing of the endpoint.
    if (stopped || held || !heart.beating.some((one) => one.endpoint.name === endpoint.name)) return;
    note(endpoint.name, now() - from, error);
  }

  function note(endpoint: string, lastMs: number, error: unknown): void {
    const before = known.get(endpoint);
    const works = error === undefined;
    const { runs = 0, failures = 0 } = before ?? {};
    known.set(endpoint, { works, lastMs, runs: runs + 1, failures: failures + (works ? 0 : 1) });
    if (!works && before?.works !== false) {
      report({ kind: "heartbeat-failed", endpoint, message: messageOf(error) });
    }
    if (works && before?.works === false) report({ kind: "heartbeat-works", endpoint });
  }

  schedule(0);
  return {
    use(next) {
      heart = next;
      const names = new Set(next.beating.map(({ endpoint }) => endpoint.name));
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      // A round that is under way sets the time of the next one when it is over.
      if (!beating && !held && !stopped) schedule(0);
    },
    hold() {
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
      heart.intervalMs === undefined
        ? []
        : heart.beating.map(({ endpoint: { name } }) => ({
            endpoint: name,
            ...(known.get(name) ?? { works: undefined, lastMs: undefined, runs: 0, failures: 0 }),
          })),
  };
}

/** Without anything that was sent: a failure's own words, or its kind. */
function messageOf(error: unknown): string {
  if (!(error instanceof RequestFailure)) return "unexpected error";
  const { failure } = error;
  if (failure.kind === "query-failed") return logMessage(failure);
  return failure.kind === "connection-down" ? `connection '${failure.connection}' cannot be reached` : failure.kind;
}
