import { eachPhase, type Phase, phases } from "../calls/call-marks.ts";
import type { CallEnd, CallObserver, ObservedCall } from "../calls/observed-call.ts";
import { addTiming, callBounds, openTimings, type Timings } from "./timings.ts";

/** The counts of one endpoint on one surface. */
export interface EndpointCounts {
  readonly endpoint: string;
  readonly surface: ObservedCall["surface"];
  /** Calls by format, then by status. */
  readonly requests: Map<string, Map<number, number>>;
  readonly durations: Timings;
  /** Seconds, in the order of `phases`. */
  readonly phaseSeconds: Float64Array;
  readonly cacheReads: Map<"hit" | "miss" | "stale", number>;
  rows: number;
  bytes: number;
  responseCacheHits: number;
}

/** Counts calls as they end. */
export interface CallCounts {
  readonly observer: CallObserver;
  readonly phases: ReadonlyMap<Phase, Timings>;
  all(): readonly EndpointCounts[];
  /** Drops the counts of all other endpoints. */
  keep(endpoints: ReadonlySet<string>): void;
}

/** The format of a response without one, such as an error. */
const NO_FORMAT = "none";

export function openCallCounts(): CallCounts {
  const counts = { rest: new Map<string, EndpointCounts>(), mcp: new Map<string, EndpointCounts>() };
  const timings = new Map(phases.map((phase) => [phase, openTimings(callBounds)]));

  function add(surface: ObservedCall["surface"], endpoint: string): EndpointCounts {
    const added: EndpointCounts = {
      endpoint,
      surface,
      requests: new Map(),
      durations: openTimings(callBounds),
      phaseSeconds: new Float64Array(phases.length),
      cacheReads: new Map(),
      rows: 0,
      bytes: 0,
      responseCacheHits: 0,
    };
    counts[surface].set(endpoint, added);
    return added;
  }

  function onEnd(call: ObservedCall, { status, durationMs }: CallEnd): void {
    const { surface, endpoint, format = NO_FORMAT, rows, bytes, cache, marks } = call;
    const known = counts[surface].get(endpoint) ?? add(surface, endpoint);
    let byStatus = known.requests.get(format);
    if (byStatus === undefined) {
      byStatus = new Map();
      known.requests.set(format, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    addTiming(known.durations, durationMs / 1000);
    if (rows !== undefined) known.rows += rows;
    if (bytes !== undefined) known.bytes += bytes;
    if (call.fromResponseCache === true) known.responseCacheHits++;
    if (cache !== undefined) known.cacheReads.set(cache, (known.cacheReads.get(cache) ?? 0) + 1);
    if (marks === undefined) return;
    const { startedAt } = call;
    eachPhase({ startedAt, marks }, startedAt + durationMs, (phase, from, to) => {
      const seconds = (to - from) / 1000;
      const index = phases.indexOf(phase);
      known.phaseSeconds[index] = (known.phaseSeconds[index] ?? 0) + seconds;
      const timing = timings.get(phase);
      if (timing !== undefined) addTiming(timing, seconds);
    });
  }

  return {
    observer: { needsParameters: false, onEnd },
    phases: timings,
    all: () => [...counts.rest.values(), ...counts.mcp.values()],
    keep(endpoints) {
      for (const bySurface of [counts.rest, counts.mcp]) {
        for (const endpoint of bySurface.keys()) if (!endpoints.has(endpoint)) bySurface.delete(endpoint);
      }
    },
  };
}
