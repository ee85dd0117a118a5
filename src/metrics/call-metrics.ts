import { phases } from "../calls/call-marks.ts";
import type { CallFigures, EndpointFigures } from "./call-figures.ts";
import { type Labels, type MetricDefinition, type Sample, samplesOfTimings } from "./metric.ts";

const whose = ({ endpoint, surface }: EndpointFigures): Labels => ({ endpoint, surface });

/** What calls are made of. */
export function callMetrics({ all, phases: timings }: CallFigures): readonly MetricDefinition[] {
  const each = (samplesOf: (figures: EndpointFigures) => readonly Sample[]) => () => all().flatMap(samplesOf);
  const durations = "eider_request_duration_seconds";
  const phaseDurations = "eider_phase_duration_seconds";
  return [
    {
      name: "eider_requests_total",
      help: "Calls that have been answered, or left by their client (499).",
      type: "counter",
      labels: ["endpoint", "surface", "status", "format"],
      samples: each((figures) =>
        [...figures.requests].flatMap(([format, statuses]) =>
          [...statuses].map(([status, value]) => ({
            labels: { ...whose(figures), status: String(status), format },
            value,
          })),
        ),
      ),
    },
    {
      name: durations,
      help: "From the head of the request to the last byte of the answer.",
      type: "histogram",
      labels: ["endpoint", "surface"],
      samples: each((figures) => samplesOfTimings(durations, figures.durations, whose(figures))),
    },
    {
      name: phaseDurations,
      help: "The parts of a call that ran something, over all endpoints.",
      type: "histogram",
      labels: ["phase"],
      samples: () => [...timings].flatMap(([phase, timing]) => samplesOfTimings(phaseDurations, timing, { phase })),
    },
    {
      name: "eider_endpoint_phase_seconds_total",
      help: "Time spent in each part of a call, by endpoint.",
      type: "counter",
      labels: ["endpoint", "surface", "phase"],
      samples: each((figures) =>
        phases.map((phase, index) => ({
          labels: { ...whose(figures), phase },
          value: figures.phaseSeconds[index] ?? 0,
        })),
      ),
    },
    perEndpoint("eider_rows_total", "Rows in answers, and rows that writes changed.", ({ rows }) => rows),
    perEndpoint(
      "eider_response_bytes_total",
      "Bytes of answers, with their heads where something was run.",
      ({ bytes }) => bytes,
    ),
    perEndpoint(
      "eider_remembered_answers_total",
      "Calls that got the answer of an earlier one.",
      ({ remembered }) => remembered,
    ),
    {
      name: "eider_cache_reads_total",
      help: "Calls of endpoints with a cache, by what they found: hit, miss, stale.",
      type: "counter",
      labels: ["endpoint", "surface", "state"],
      samples: each((figures) =>
        [...figures.cacheReads].map(([state, value]) => ({ labels: { ...whose(figures), state }, value })),
      ),
    },
  ];

  function perEndpoint(name: string, help: string, value: (figures: EndpointFigures) => number): MetricDefinition {
    const samples = each((figures) => [{ labels: whose(figures), value: value(figures) }]);
    return { name, help, type: "counter", labels: ["endpoint", "surface"], samples };
  }
}
