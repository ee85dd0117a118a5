import type { Registry } from "prom-client";
import type { Report } from "../events.ts";

/** Counts events with prom-client. Events are so rare that its cost does not matter. */
export interface EventMetrics {
  readonly onEvent: Report;
  /** Drops the series of all other endpoints and caches. */
  keep(endpoints: ReadonlySet<string>, caches: ReadonlySet<string>): Promise<void>;
}

/** In seconds. A refresh may take minutes. */
const REFRESH_BOUNDS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];

export function openEventMetrics(
  registry: Registry,
  { Counter, Gauge, Histogram }: typeof import("prom-client"),
): EventMetrics {
  const registers = [registry];
  const failures = new Counter({
    name: "eider_call_failures_total",
    help: "Rejected and failed calls, by kind. The endpoint is empty when the call reached none.",
    labelNames: ["endpoint", "kind"],
    registers,
  });
  const abortedResponses = new Counter({
    name: "eider_answers_cut_total",
    help: "Responses that were aborted after their headers had been sent.",
    labelNames: ["endpoint"],
    registers,
  });
  const refreshes = new Histogram({
    name: "eider_cache_refresh_duration_seconds",
    help: "Successful cache refreshes.",
    labelNames: ["cache"],
    buckets: REFRESH_BOUNDS,
    registers,
  });
  const refreshFailures = new Counter({
    name: "eider_cache_refresh_failures_total",
    help: "Cache refreshes that began to fail, or failed with another error.",
    labelNames: ["cache"],
    registers,
  });
  const dependencyDown = new Gauge({
    name: "eider_dependency_down",
    help: "1 while a dependency is down: identity provider, Redis, trace collector.",
    labelNames: ["dependency"],
    registers,
  });
  const reloads = new Counter({
    name: "eider_reloads_total",
    help: "Project reloads, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const slowCalls = new Counter({
    name: "eider_slow_calls_total",
    help: "Calls slower than log.slow-query.",
    registers,
  });
  const unexpectedErrors = new Counter({
    name: "eider_unexpected_errors_total",
    help: "Unexpected errors in Eider itself.",
    registers,
  });
  for (const outcome of ["done", "refused"]) reloads.inc({ outcome }, 0);

  return {
    onEvent(event) {
      switch (event.kind) {
        case "call-failed":
          return failures.inc({ endpoint: event.endpoint, kind: event.failure.kind });
        case "call-cut":
          return abortedResponses.inc({ endpoint: event.endpoint });
        case "cache-refreshed":
          refreshFailures.inc({ cache: event.cache }, 0);
          return refreshes.observe({ cache: event.cache }, event.ms / 1000);
        case "cache-refresh-failed":
          return refreshFailures.inc({ cache: event.cache });
        case "dependency-down":
          return dependencyDown.set({ dependency: event.dependency }, 1);
        case "dependency-up":
          return dependencyDown.remove({ dependency: event.dependency });
        case "reloaded":
          return reloads.inc({ outcome: "done" });
        case "reload-refused":
          return reloads.inc({ outcome: "refused" });
        case "slow-call":
          return slowCalls.inc();
        case "unexpected":
          return unexpectedErrors.inc();
        // Other events are visible in the metrics of connections, caches and heartbeats.
      }
    },
    async keep(endpoints, caches) {
      for (const counter of [failures, abortedResponses]) {
        for (const { labels } of (await counter.get()).values) {
          // An empty name means that the call reached no endpoint.
          if (labels.endpoint !== "" && !endpoints.has(String(labels.endpoint))) counter.remove(labels);
        }
      }
      for (const { labels } of (await refreshFailures.get()).values) {
        if (caches.has(String(labels.cache))) continue;
        refreshFailures.remove(labels);
        refreshes.remove(labels);
      }
    },
  };
}
