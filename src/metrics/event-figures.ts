import type { ServiceEvent } from "../events.ts";
import type { Failure } from "../failure.ts";
import { addTiming, openTimings, type Timings } from "./timings.ts";

/** What is counted of one cache. */
export interface CacheFigures {
  readonly refreshes: Timings;
  failures: number;
}

/** What is counted of the events that the service reports of itself. */
export interface EventFigures {
  readonly onEvent: (event: ServiceEvent) => void;
  /** By endpoint (empty: the call did not get that far), then by kind. */
  readonly failures: ReadonlyMap<string, ReadonlyMap<Failure["kind"], number>>;
  /** Answers that were cut off, by endpoint. */
  readonly cut: ReadonlyMap<string, number>;
  /** By the name of the cache, `schema.table`. */
  readonly caches: ReadonlyMap<string, CacheFigures>;
  /** Parts beside the data that do not work now. */
  readonly partsDown: ReadonlySet<string>;
  reloads(): { readonly done: number; readonly refused: number };
  slowCalls(): number;
  unexpected(): number;
  /** Forgets endpoints and caches that are not among these. */
  keep(endpoints: ReadonlySet<string>, caches: ReadonlySet<string>): void;
}

/** Seconds: a refresh may take minutes. */
const REFRESH_BOUNDS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];

export function openEventFigures(): EventFigures {
  const failures = new Map<string, Map<Failure["kind"], number>>();
  const cut = new Map<string, number>();
  const caches = new Map<string, CacheFigures>();
  const partsDown = new Set<string>();
  const counts = { reloads: 0, refused: 0, slow: 0, unexpected: 0 };

  function cacheOf(name: string): CacheFigures {
    const known = caches.get(name) ?? { refreshes: openTimings(REFRESH_BOUNDS), failures: 0 };
    caches.set(name, known);
    return known;
  }

  function onEvent(event: ServiceEvent): void {
    switch (event.kind) {
      case "call-failed": {
        const ofEndpoint = failures.get(event.endpoint) ?? new Map<Failure["kind"], number>();
        const { kind } = event.failure;
        failures.set(event.endpoint, ofEndpoint.set(kind, (ofEndpoint.get(kind) ?? 0) + 1));
        return;
      }
      case "call-cut":
        cut.set(event.endpoint, (cut.get(event.endpoint) ?? 0) + 1);
        return;
      case "cache-refreshed":
        addTiming(cacheOf(event.cache).refreshes, event.ms / 1000);
        return;
      case "cache-refresh-failed":
        cacheOf(event.cache).failures++;
        return;
      case "part-down":
        partsDown.add(event.part);
        return;
      case "part-up":
        partsDown.delete(event.part);
        return;
      case "reloaded":
        counts.reloads++;
        return;
      case "reload-refused":
        counts.refused++;
        return;
      case "slow-call":
        counts.slow++;
        return;
      case "unexpected":
        counts.unexpected++;
        return;
      // What is left shows in the state of connections, caches and heartbeats.
      case "source-down":
      case "source-up":
      case "cache-warm-up":
      case "cache-refresh-works":
      case "cache-invalidated":
      case "cache-drop-failed":
      case "heartbeat-failed":
      case "heartbeat-works":
      case "query-ran":
      case "restart-needed":
        return;
    }
  }

  return {
    onEvent: onEvent,
    failures,
    cut,
    caches,
    partsDown,
    reloads: () => ({ done: counts.reloads, refused: counts.refused }),
    slowCalls: () => counts.slow,
    unexpected: () => counts.unexpected,
    keep(endpoints, names) {
      for (const counted of [failures, cut]) {
        for (const endpoint of counted.keys())
          if (endpoint !== "" && !endpoints.has(endpoint)) counted.delete(endpoint);
      }
      for (const cache of caches.keys()) if (!names.has(cache)) caches.delete(cache);
    },
  };
}
