import type { EventFigures } from "./event-figures.ts";
import { counter, type MetricDefinition, samplesOfTimings } from "./metric.ts";

/** What the service reported of itself. */
export function eventMetrics(events: EventFigures): readonly MetricDefinition[] {
  const refreshes = "eider_cache_refresh_duration_seconds";
  return [
    {
      name: "eider_call_failures_total",
      help: "Calls that were refused or failed, by kind; without an endpoint where they reached none.",
      type: "counter",
      labels: ["endpoint", "kind"],
      samples: () =>
        [...events.failures].flatMap(([endpoint, kinds]) =>
          [...kinds].map(([kind, value]) => ({ labels: { endpoint, kind }, value })),
        ),
    },
    {
      name: "eider_answers_cut_total",
      help: "Answers that broke off after their head had been sent.",
      type: "counter",
      labels: ["endpoint"],
      samples: () => [...events.cut].map(([endpoint, value]) => ({ labels: { endpoint }, value })),
    },
    {
      name: refreshes,
      help: "Refreshes that came to their end.",
      type: "histogram",
      labels: ["cache"],
      samples: () =>
        [...events.caches].flatMap(([cache, figures]) => samplesOfTimings(refreshes, figures.refreshes, { cache })),
    },
    {
      name: "eider_cache_refresh_failures_total",
      help: "How often a cache began to fail, or failed in another way.",
      type: "counter",
      labels: ["cache"],
      samples: () => [...events.caches].map(([cache, { failures }]) => ({ labels: { cache }, value: failures })),
    },
    {
      name: "eider_part_down",
      help: "1 for each part beside the data that does not work now: a key server, a shared counter, a collector.",
      type: "gauge",
      labels: ["part"],
      samples: () => [...events.partsDown].map((part) => ({ labels: { part }, value: 1 })),
    },
    {
      name: "eider_reloads_total",
      help: "Changes of the project, taken up or refused.",
      type: "counter",
      labels: ["outcome"],
      samples: () => {
        const { done, refused } = events.reloads();
        return [
          { labels: { outcome: "done" }, value: done },
          { labels: { outcome: "refused" }, value: refused },
        ];
      },
    },
    counter("eider_slow_calls_total", "Calls beyond log.slow-query.", events.slowCalls),
    counter("eider_unexpected_errors_total", "Errors of the service itself.", events.unexpected),
  ];
}
