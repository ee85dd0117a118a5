import { openAdminApp } from "../admin/admin-app.ts";
import { afterMs } from "../cache/schedule.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { Report } from "../events.ts";
import { type Heart, openHeartbeats } from "../heartbeat/open-heartbeats.ts";
import type { RequestHandler } from "../http/listen.ts";
import { openQueryLog } from "../log/query-log.ts";
import { openMetrics } from "../metrics/open-metrics.ts";
import type { RestOptions } from "../rest/rest-app.ts";
import type { Service } from "../service/service.ts";
import { openTracing } from "../tracing/open-tracing.ts";
import type { Surface } from "./surfaces.ts";

/** Everything by which a service that runs is seen from outside. It outlives reloads. */
export interface Observability {
  readonly observers: readonly CallObserver[];
  /** Counts what the service reports. */
  readonly onEvent: Report;
  /** Follows the service as its surfaces do. */
  readonly surface: Surface;
  readonly rest: Required<Pick<RestOptions, "admin" | "sendsServerTiming">>;
  /** What a listener of its own answers, where there is one. */
  readonly admin: { readonly host: string; readonly port: number; readonly handle: RequestHandler } | undefined;
  /** Counts of the process too. */
  watchProcess(): void;
  close(): Promise<void>;
}

export interface ObservabilityOptions {
  readonly report: Report;
  readonly now: () => Date;
  /** For the person who writes the project. */
  readonly isDev: boolean;
}

/** Opens what the main file asks for: metrics, traces, heartbeats, the log of queries. decisions 1, 10. */
export async function openObservability(
  first: Service,
  { report, now, isDev }: ObservabilityOptions,
): Promise<Observability> {
  const { observability, log } = first.project.main;
  let service = first;
  let isDraining = false;
  // Nothing is counted where nothing serves it.
  const isServed = isDev || observability.admin !== undefined || observability.metrics?.onRest === true;
  const metrics = observability.metrics !== undefined && isServed ? openMetrics(now) : undefined;
  const tracing = observability.tracing && (await openTracing(observability.tracing, { report }));
  const queries = openQueryLog(first.project, report);
  const heartbeats = openHeartbeats(heartOf(first), { after: afterMs, now: () => performance.now(), report });
  metrics?.use(first, heartbeats);
  const observers = [metrics?.observer, tracing?.observer, queries.observer].filter((one) => one !== undefined);
  const handle = openAdminApp(() => {
    const { sources, caches } = service;
    return { health: { sources, caches, heartbeats }, isDraining, metrics };
  }, report);
  const sendsServerTiming = isDev || tracing !== undefined || log.level === "debug" || log.level === "trace";
  return {
    observers,
    onEvent: (event) => metrics?.heard(event),
    surface: {
      prepare: async (next) => () => {
        service = next;
        metrics?.use(next, heartbeats);
        queries.use(next.project);
        heartbeats.use(heartOf(next));
      },
      hold: heartbeats.hold,
      drain() {
        isDraining = true;
        heartbeats.stop();
      },
      // Heartbeats end when they are held or stopped: there is nothing else that would go on.
      cancelAll() {},
      endStreams() {},
    },
    rest: { admin: observability.admin === undefined ? { metrics, heartbeats } : "elsewhere", sendsServerTiming },
    admin: observability.admin && { ...observability.admin, handle },
    watchProcess: () => metrics?.watchProcess(),
    async close() {
      heartbeats.stop();
      await tracing?.close();
    },
  };
}

function heartOf(service: Service): Heart {
  const { project, endpoints } = service;
  return {
    callee: service,
    beating: endpoints.flatMap((endpoint, index) => {
      const heartbeat = project.endpoints[index]?.heartbeat;
      return heartbeat === undefined ? [] : { endpoint, heartbeat };
    }),
    intervalMs: project.main.observability.heartbeatMs,
  };
}
