import type { Metric, Registry } from "prom-client";
import type { Timings } from "./timings.ts";

export type Labels = Readonly<Record<string, string>>;

/** One sample of a metric. */
export interface Sample {
  /** Set only if it differs from the name of the metric. */
  readonly metricName?: string;
  readonly labels: Labels;
  readonly value: number;
}

/** A metric. Its samples are created at a scrape. */
export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labelNames: readonly string[];
  readonly samples: () => readonly Sample[];
}

/** Bypasses the metric types of prom-client, because these hash their labels on every count. */
export function register(registry: Registry, { samples, ...metric }: MetricDefinition): void {
  const get = async () => ({ ...metric, aggregator: "sum", values: samples() });
  registry.registerMetric({ ...metric, get } as unknown as Metric);
}

/** The samples of a histogram. */
export function samplesOfTimings(name: string, { bounds, counts, sum }: Timings, labels: Labels): readonly Sample[] {
  const samples: Sample[] = [];
  let total = 0;
  for (const [index, bound] of bounds.entries()) {
    total += counts[index] ?? 0;
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: total });
  }
  total += counts[bounds.length] ?? 0;
  samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: total });
  samples.push({ metricName: `${name}_sum`, labels, value: sum });
  samples.push({ metricName: `${name}_count`, labels, value: total });
  return samples;
}
