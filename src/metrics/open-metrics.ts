import type { Caches } from "../cache/caches.ts";
import type { ConnectionStatus } from "../calls/connection-status.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { MainConfig } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EmbeddedEngine, EngineMemory } from "../engines/embedded-engine.ts";
import type { Report } from "../events.ts";
import type { Heartbeats } from "../heartbeat/open-heartbeats.ts";
import { withTimeLimit } from "../time-limit.ts";
import { openCallCounts } from "./call-counts.ts";
import { callMetrics } from "./call-metrics.ts";
import { openEventMetrics } from "./event-metrics.ts";
import { type MetricDefinition, register } from "./metric.ts";
import { type ScrapeState, stateMetrics } from "./state-metrics.ts";

/** The state that gauges describe. */
export interface MetricsSource {
  readonly project: { readonly main: Pick<MainConfig, "connections"> };
  readonly endpoints: readonly Pick<Endpoint, "name" | "mcp">[];
  readonly engine: Pick<EmbeddedEngine, "activity" | "savings" | "memory">;
  readonly caches: Pick<Caches, "statuses">;
  readonly connectionStatus: Pick<ConnectionStatus, "down">;
  readonly heartbeats: Pick<Heartbeats, "statuses">;
}

/** The metrics page of a listener. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** Metrics for Prometheus. They survive reloads. */
export interface Metrics {
  readonly contentType: string;
  readonly observer: CallObserver;
  /** Counts an event. */
  readonly onEvent: Report;
  /** Adds metrics of the process: memory, CPU, event loop. Call this once per process. */
  watchProcess(): void;
  /** The current value of every metric. Drops the series of removed endpoints and caches. */
  text(source: MetricsSource): Promise<string>;
  /** All metrics of Eider. docs/metrics.md has a row for each. */
  readonly definitions: readonly Pick<MetricDefinition, "name" | "help" | "type" | "labelNames">[];
}

/** Short, so that a busy database does not exhaust the timeout of the scrape. */
const MEMORY_TIMEOUT_MS = 500;

/** Loads prom-client only here, because most projects serve no metrics. */
export async function openMetrics(now: () => Date): Promise<Metrics> {
  const prometheus = await import("prom-client");
  const registry = new prometheus.Registry();
  const calls = openCallCounts();
  let scrapeState: ScrapeState | undefined;
  let memoryQuery: Promise<EngineMemory | undefined> | undefined;

  /** Concurrent scrapes share one query. */
  function memoryOf(engine: MetricsSource["engine"]): Promise<EngineMemory | undefined> {
    memoryQuery ??= engine
      .memory()
      .catch(() => undefined)
      .finally(() => {
        memoryQuery = undefined;
      });
    return withTimeLimit(memoryQuery, MEMORY_TIMEOUT_MS, () => undefined);
  }

  async function scrapeStateOf({
    project,
    endpoints,
    engine,
    caches,
    connectionStatus,
    heartbeats,
  }: MetricsSource): Promise<ScrapeState> {
    const down = connectionStatus.down();
    return {
      endpoints: endpoints.length,
      memory: await memoryOf(engine),
      activity: engine.activity(),
      savings: engine.savings(),
      caches: caches.statuses(),
      connections: new Map([...project.main.connections.keys()].map((name) => [name, !down.has(name)])),
      heartbeats: heartbeats.statuses(),
      nowMs: now().getTime(),
    };
  }

  /** Drops the series of endpoints and caches that a reload removed. */
  async function keepServed({ endpoints, caches }: MetricsSource): Promise<void> {
    const names = endpoints.flatMap(({ name, mcp }) =>
      mcp === undefined ? name : [name, `mcp-${mcp.kind} ${mcp.name}`],
    );
    const cacheNames = caches.statuses().map(({ name: { schema, table } }) => `${schema}.${table}`);
    const known = new Set(names);
    calls.keep(known);
    await events.keep(known, new Set(cacheNames));
  }

  for (const metric of callMetrics(calls)) register(registry, metric);
  const events = openEventMetrics(registry, prometheus);
  for (const metric of stateMetrics(() => scrapeState)) register(registry, metric);
  // The types of prom-client omit the label names.
  const definitions = registry.getMetricsAsArray() as unknown as Metrics["definitions"];

  return {
    contentType: registry.contentType,
    observer: calls.observer,
    onEvent: events.onEvent,
    watchProcess: () => prometheus.collectDefaultMetrics({ register: registry }),
    async text(source) {
      await keepServed(source);
      scrapeState = await scrapeStateOf(source);
      return await registry.metrics();
    },
    definitions,
  };
}
