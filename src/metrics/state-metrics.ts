import type { CacheStatus } from "../cache/caches.ts";
import type { EmbeddedEngine, EngineMemory, EngineSavings } from "../engines/embedded-engine.ts";
import type { HeartbeatStatus } from "../heartbeat/open-heartbeats.ts";
import type { Labels, MetricDefinition, Sample } from "./metric.ts";

/** The state of the service at a scrape. */
export interface ScrapeState {
  readonly endpoints: number;
  readonly activity: ReturnType<EmbeddedEngine["activity"]>;
  readonly savings: EngineSavings;
  /** Undefined if the database was too slow. */
  readonly memory: EngineMemory | undefined;
  readonly caches: readonly CacheStatus[];
  /** Whether the last attempt to reach a connection worked, by name. */
  readonly connections: ReadonlyMap<string, boolean>;
  readonly heartbeats: readonly HeartbeatStatus[];
  /** Unix time. */
  readonly nowMs: number;
}

type Value<T> = (of: T) => number | undefined;

/** Metrics of the state at a scrape. */
export function stateMetrics(scrapeState: () => ScrapeState | undefined): readonly MetricDefinition[] {
  const one = (name: string, help: string, value: Value<ScrapeState>): MetricDefinition => ({
    ...(name.endsWith("_total") ? COUNTER : GAUGE),
    name,
    help,
    labelNames: [],
    samples: () => samplesOf(toArray(scrapeState()), () => ({}), value),
  });
  const perCache = (name: string, help: string, value: Value<CacheStatus & { readonly nowMs: number }>) => ({
    ...GAUGE,
    name,
    help,
    labelNames: ["cache"],
    samples: () => {
      const caches = toArray(scrapeState()).flatMap(({ caches: all, nowMs }) =>
        all.map((cache) => ({ ...cache, nowMs })),
      );
      return samplesOf(caches, ({ name: { schema, table } }) => ({ cache: `${schema}.${table}` }), value);
    },
  });
  const perHeartbeat = (name: string, help: string, value: Value<HeartbeatStatus>): MetricDefinition => ({
    ...(name.endsWith("_total") ? COUNTER : GAUGE),
    name,
    help,
    labelNames: ["endpoint"],
    samples: () => samplesOf(scrapeState()?.heartbeats ?? [], ({ endpoint }) => ({ endpoint }), value),
  });
  return [
    one("eider_endpoints", "Endpoints that Eider serves.", (now) => now.endpoints),
    one("eider_queries_running", "Running queries.", (now) => now.activity.running),
    one("eider_queries_waiting", "Calls that wait for a query slot.", (now) => now.activity.waiting),
    one("eider_shared_reads_total", "Reads that shared another request's query.", (now) => now.savings.shared),
    one(
      "eider_remembered_totals_total",
      "Page totals served from the cache of totals.",
      (now) => now.savings.knownTotals,
    ),
    one("eider_database_memory_bytes", "Memory that DuckDB uses.", (now) => now.memory?.used),
    one("eider_database_memory_limit_bytes", "Memory that DuckDB may use.", (now) => now.memory?.limit),
    one("eider_database_spilled_bytes", "Data that DuckDB spilled to temporary files.", (now) => now.memory?.spilled),
    {
      ...GAUGE,
      name: "eider_connection_up",
      help: "1 when the last attempt to reach the connection worked.",
      labelNames: ["connection"],
      samples: () =>
        samplesOf(
          [...(scrapeState()?.connections ?? [])],
          ([connection]) => ({ connection }),
          ([, up]) => Number(up),
        ),
    },
    perCache("eider_cache_age_seconds", "Age of the current snapshot.", ({ createdAtMs, nowMs }) =>
      createdAtMs === undefined ? undefined : Math.max(0, nowMs - createdAtMs) / 1000,
    ),
    perCache("eider_cache_rows", "Rows of the current snapshot.", ({ rows }) => rows),
    perCache("eider_cache_snapshots", "Stored snapshots.", ({ snapshots }) => snapshots),
    perCache("eider_cache_stale", "1 when the current snapshot is stale.", ({ isStale }) => Number(isStale)),
    perCache("eider_cache_failing", "1 when the last refresh failed.", ({ error }) => Number(error !== undefined)),
    perHeartbeat("eider_heartbeat_up", "1 when the last heartbeat run of the endpoint worked.", ({ works }) =>
      works === undefined ? undefined : Number(works),
    ),
    perHeartbeat("eider_heartbeat_duration_seconds", "Duration of the last heartbeat run.", ({ lastMs }) =>
      lastMs === undefined ? undefined : lastMs / 1000,
    ),
    perHeartbeat("eider_heartbeat_runs_total", "Heartbeat runs.", ({ runs }) => runs),
    perHeartbeat("eider_heartbeat_failures_total", "Failed heartbeat runs.", ({ failures }) => failures),
  ];
}

const GAUGE = { type: "gauge" } as const;
const COUNTER = { type: "counter" } as const;

function toArray<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

/** A sample for each item with a value. */
function samplesOf<T>(items: readonly T[], labelsOf: (item: T) => Labels, read: Value<T>): readonly Sample[] {
  return items.flatMap((item) => toArray(read(item)).map((value) => ({ labels: labelsOf(item), value })));
}
