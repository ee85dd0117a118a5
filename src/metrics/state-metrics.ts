import type { CacheStatus } from "../cache/caches.ts";
import type { Engine, EngineMemory, EngineSavings } from "../engines/engine.ts";
import type { HeartbeatStatus } from "../heartbeat/open-heartbeats.ts";
import { counter, gauge, type MetricDefinition } from "./metric.ts";

/** The state of the service at a scrape. */
export interface Moment {
  readonly endpoints: number;
  readonly activity: ReturnType<Engine["activity"]>;
  readonly savings: EngineSavings;
  /** Undefined when the database was too slow. */
  readonly memory: EngineMemory | undefined;
  readonly caches: readonly CacheStatus[];
  /** Every connection, and whether the last attempt to reach it worked. */
  readonly connections: ReadonlyMap<string, boolean>;
  readonly heartbeats: readonly HeartbeatStatus[];
  /** Time of day in milliseconds. */
  readonly nowMs: number;
}

/** Gauges of the state at a scrape. */
export function stateMetrics(moment: () => Moment | undefined): readonly MetricDefinition[] {
  const now = (value: (known: Moment) => number | undefined) => () => {
    const known = moment();
    return known && value(known);
  };
  const caches = (value: (cache: CacheStatus, nowMs: number) => number | undefined) => () => {
    const { caches: known = [], nowMs = 0 } = moment() ?? {};
    return known.flatMap((cache) => {
      const found = value(cache, nowMs);
      return found === undefined ? [] : { labels: { cache: `${cache.name.schema}.${cache.name.table}` }, value: found };
    });
  };
  const beats = (value: (beat: HeartbeatStatus) => number | undefined) => () =>
    (moment()?.heartbeats ?? []).flatMap((beat) => {
      const found = value(beat);
      return found === undefined ? [] : { labels: { endpoint: beat.endpoint }, value: found };
    });
  const ofCache = { type: "gauge", labelNames: ["cache"] } as const;
  const ofBeat = { labelNames: ["endpoint"] } as const;
  return [
    gauge(
      "eider_endpoints",
      "Endpoints that Eider serves.",
      now((known) => known.endpoints),
    ),
    gauge(
      "eider_queries_running",
      "Running queries.",
      now(({ activity }) => activity.running),
    ),
    gauge(
      "eider_queries_waiting",
      "Calls that wait for a query slot.",
      now(({ activity }) => activity.waiting),
    ),
    counter(
      "eider_shared_reads_total",
      "Reads that shared another request's query.",
      now(({ savings }) => savings.shared),
    ),
    counter(
      "eider_remembered_totals_total",
      "Page totals served from the cache of totals.",
      now(({ savings }) => savings.knownTotals),
    ),
    gauge(
      "eider_database_memory_bytes",
      "Memory that DuckDB uses.",
      now(({ memory }) => memory?.used),
    ),
    gauge(
      "eider_database_memory_limit_bytes",
      "Memory that DuckDB may use.",
      now(({ memory }) => memory?.limit),
    ),
    gauge(
      "eider_database_spilled_bytes",
      "Data that DuckDB spilled to temporary files.",
      now(({ memory }) => memory?.spilled),
    ),
    {
      name: "eider_connection_up",
      help: "1 when the last attempt to reach the connection worked.",
      type: "gauge",
      labelNames: ["connection"],
      samples: () =>
        [...(moment()?.connections ?? [])].map(([connection, up]) => ({ labels: { connection }, value: Number(up) })),
    },
    {
      ...ofCache,
      name: "eider_cache_age_seconds",
      help: "Age of the current snapshot.",
      samples: caches(({ createdAtMs }, nowMs) =>
        createdAtMs === undefined ? undefined : Math.max(0, nowMs - createdAtMs) / 1000,
      ),
    },
    {
      ...ofCache,
      name: "eider_cache_rows",
      help: "Rows of the current snapshot.",
      samples: caches(({ rows }) => rows),
    },
    {
      ...ofCache,
      name: "eider_cache_snapshots",
      help: "Stored snapshots.",
      samples: caches(({ snapshots }) => snapshots),
    },
    {
      ...ofCache,
      name: "eider_cache_stale",
      help: "1 when the current snapshot is stale.",
      samples: caches(({ isStale }) => Number(isStale)),
    },
    {
      ...ofCache,
      name: "eider_cache_failing",
      help: "1 when the last refresh failed.",
      samples: caches(({ error }) => Number(error !== undefined)),
    },
    {
      ...ofBeat,
      type: "gauge",
      name: "eider_heartbeat_up",
      help: "1 when the last heartbeat run of the endpoint worked.",
      samples: beats(({ works }) => (works === undefined ? undefined : Number(works))),
    },
    {
      ...ofBeat,
      type: "gauge",
      name: "eider_heartbeat_duration_seconds",
      help: "Duration of the last heartbeat run.",
      samples: beats(({ lastMs }) => (lastMs === undefined ? undefined : lastMs / 1000)),
    },
    {
      ...ofBeat,
      type: "counter",
      name: "eider_heartbeat_runs_total",
      help: "Heartbeat runs.",
      samples: beats(({ runs }) => runs),
    },
    {
      ...ofBeat,
      type: "counter",
      name: "eider_heartbeat_failures_total",
      help: "Failed heartbeat runs.",
      samples: beats(({ failures }) => failures),
    },
  ];
}
