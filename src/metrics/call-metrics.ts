import { phases } from "../calls/call-marks.ts";
import type { CallCounts, EndpointCounts } from "./call-counts.ts";
import { type Labels, type MetricDefinition, type Sample, samplesOfTimings } from "./metric.ts";

const labelsOf = ({ endpoint, surface }: EndpointCounts): Labels => ({ endpoint, surface });

/** The metrics of calls. */
export function callMetrics({ all, phases: timings }: CallCounts): readonly MetricDefinition[] {
  const each = (samplesOf: (counts: EndpointCounts) => readonly Sample[]) => () => all().flatMap(samplesOf);
  const durations = "eider_request_duration_seconds";
  const phaseDurations = "eider_phase_duration_seconds";
  return [
    {
      name: "eider_requests_total",
      help: "Finished calls. Status 499: the client disconnected.",
      type: "counter",
      labelNames: ["endpoint", "surface", "status", "format"],
      samples: each((counts) =>
        [...counts.requests].flatMap(([format, statuses]) =>
          [...statuses].map(([status, value]) => ({
            labels: { ...labelsOf(counts), status: String(status), format },
            value,
          })),
        ),
      ),
    },
    {
      name: durations,
      help: "From the headers of the request to the last byte of the response.",
      type: "histogram",
      labelNames: ["endpoint", "surface"],
      samples: each((counts) => samplesOfTimings(durations, counts.durations, labelsOf(counts))),
    },
    {
      name: phaseDurations,
      help: "Phases of calls that ran a query, over all endpoints.",
      type: "histogram",
      labelNames: ["phase"],
      samples: () => [...timings].flatMap(([phase, timing]) => samplesOfTimings(phaseDurations, timing, { phase })),
    },
    {
      name: "eider_endpoint_phase_seconds_total",
      help: "Time spent in each phase of a call, by endpoint.",
      type: "counter",
      labelNames: ["endpoint", "surface", "phase"],
      samples: each((counts) =>
        phases.map((phase, index) => ({
          labels: { ...labelsOf(counts), phase },
          value: counts.phaseSeconds[index] ?? 0,
        })),
      ),
    },
    perEndpoint("eider_rows_total", "Rows in responses, and rows that writes changed.", ({ rows }) => rows),
    perEndpoint(
      "eider_response_bytes_total",
      "Bytes of responses, including headers when a query ran.",
      ({ bytes }) => bytes,
    ),
    perEndpoint(
      "eider_response_cache_hits_total",
      "Requests served from the response cache.",
      ({ responseCacheHits }) => responseCacheHits,
    ),
    {
      name: "eider_cache_reads_total",
      help: "Calls of endpoints with a cache, by its state: hit, miss, stale.",
      type: "counter",
      labelNames: ["endpoint", "surface", "state"],
      samples: each((counts) =>
        [...counts.cacheReads].map(([state, value]) => ({ labels: { ...labelsOf(counts), state }, value })),
      ),
    },
  ];

  function perEndpoint(name: string, help: string, value: (counts: EndpointCounts) => number): MetricDefinition {
    const samples = each((counts) => [{ labels: labelsOf(counts), value: value(counts) }]);
    return { name, help, type: "counter", labelNames: ["endpoint", "surface"], samples };
  }
}
