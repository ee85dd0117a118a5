import type { CacheStatus } from "../cache/caches.ts";
import type { Engine, EngineMemory, EngineSavings } from "../engines/engine.ts";
import type { HeartbeatStatus } from "../heartbeat/open-heartbeats.ts";
import { counter, gauge, type MetricDefinition } from "./metric.ts";

/** The service in the moment in which somebody asks. */
export interface Moment {
  readonly endpoints: number;
  readonly activity: ReturnType<Engine["activity"]>;
  readonly savings: EngineSavings;
  /** Undefined when the database did not answer in time. */
  readonly memory: EngineMemory | undefined;
  readonly caches: readonly CacheStatus[];
  /** Every connection, and whether it could be reached last time. */
  readonly connections: ReadonlyMap<string, boolean>;
  readonly heartbeats: readonly HeartbeatStatus[];
  /** Milliseconds of the clock on the wall. */
  readonly nowMs: number;
}

/** What is so in this moment; undefined before there is a service. */
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
      "Endpoints that are served.",
      now((known) => known.endpoints),
    ),
    gauge(
      "eider_queries_running",
      "Queries at work.",
      now(({ activity }) => activity.running),
    ),
    gauge(
      "eider_queries_waiting",
      "Calls that wait for a query to end.",
      now(({ activity }) => activity.waiting),
    ),
    counter(
      "eider_shared_reads_total",
      "Reads that got the rows of somebody else's execution.",
      now(({ savings }) => savings.shared),
    ),
    counter(
      "eider_remembered_totals_total",
      "Totals of pages that were known and not counted again.",
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
      "What did not fit, in temporary files.",
      now(({ memory }) => memory?.spilled),
    ),
    {
      name: "eider_connection_up",
      help: "Whether a connection could be opened when it was last tried.",
      type: "gauge",
      labelNames: ["connection"],
      samples: () =>
        [...(moment()?.connections ?? [])].map(([connection, up]) => ({ labels: { connection }, value: Number(up) })),
    },
    {
      ...ofCache,
      name: "eider_cache_age_seconds",
      help: "Since the snapshot that is served was made.",
      samples: caches(({ createdAtMs }, nowMs) =>
        createdAtMs === undefined ? undefined : Math.max(0, nowMs - createdAtMs) / 1000,
      ),
    },
    {
      ...ofCache,
      name: "eider_cache_rows",
      help: "Rows of the snapshot that is served.",
      samples: caches(({ rows }) => rows),
    },
    {
      ...ofCache,
      name: "eider_cache_snapshots",
      help: "Snapshots that are kept.",
      samples: caches(({ snapshots }) => snapshots),
    },
    {
      ...ofCache,
      name: "eider_cache_stale",
      help: "1 when the rows are older than they should be.",
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
      help: "Whether the last run of an endpoint by the clock worked.",
      samples: beats(({ works }) => (works === undefined ? undefined : Number(works))),
    },
    {
      ...ofBeat,
      type: "gauge",
      name: "eider_heartbeat_duration_seconds",
      help: "How long the last run by the clock took.",
      samples: beats(({ lastMs }) => (lastMs === undefined ? undefined : lastMs / 1000)),
    },
    {
      ...ofBeat,
      type: "counter",
      name: "eider_heartbeat_runs_total",
      help: "Runs by the clock.",
      samples: beats(({ runs }) => runs),
    },
    {
      ...ofBeat,
      type: "counter",
      name: "eider_heartbeat_failures_total",
      help: "Runs by the clock that failed.",
      samples: beats(({ failures }) => failures),
    },
  ];
}
