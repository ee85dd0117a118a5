import { openAdminApp } from "../admin/admin-app.ts";
import { afterMs } from "../cache/schedule.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { MainConfig } from "../config/project.ts";
import type { Report } from "../events.ts";
import { type HeartbeatInput, openHeartbeats } from "../heartbeat/open-heartbeats.ts";
import type { RequestHandler } from "../http/listen.ts";
import { openQueryLog } from "../log/query-log.ts";
import { type Metrics, openMetrics } from "../metrics/open-metrics.ts";
import type { RestOptions } from "../rest/rest-app.ts";
import type { Service } from "../service/service.ts";
import { openTracing } from "../tracing/open-tracing.ts";
import type { Surface } from "./surfaces.ts";

/** Observability of a running service. It outlives reloads. */
export interface Observability {
  readonly observers: readonly CallObserver[];
  /** Switches to the new version of the service on a reload. */
  readonly surface: Surface;
  readonly rest: Required<Pick<RestOptions, "admin" | "sendsServerTiming">>;
  /** What the admin listener serves, and where. Undefined if none is configured. */
  readonly admin: { readonly host: string; readonly port: number; readonly handle: RequestHandler } | undefined;
  close(): Promise<void>;
}

export interface ObservabilityOptions {
  readonly report: Report;
  readonly metrics: Metrics | undefined;
  readonly isDev: boolean;
}

/** Opens a project's metrics, before its service, so that they count its first events. Undefined if no listener serves them. */
export async function openMetricsOf(
  { observability }: MainConfig,
  { now, isDev }: { readonly now: () => Date; readonly isDev: boolean },
): Promise<Metrics | undefined> {
  const isServed = isDev || observability.admin !== undefined || observability.metrics?.onRest === true;
  return observability.metrics !== undefined && isServed ? await openMetrics(now) : undefined;
}

/** Opens a project's tracing, heartbeats, query log and admin pages. */
export async function openObservability(
  first: Service,
  { report, metrics, isDev }: ObservabilityOptions,
): Promise<Observability> {
  const { observability, log } = first.project.main;
  let service = first;
  let isDraining = false;
  const tracing = observability.tracing && (await openTracing(observability.tracing, { report }));
  const queryLog = openQueryLog(first.project, report);
  const heartbeats = openHeartbeats(heartbeatInputOf(first), { after: afterMs, now: () => performance.now(), report });
  const metricsPage = metrics && {
    contentType: metrics.contentType,
    text: () => metrics.text({ ...service, heartbeats }),
  };
  const observers = [metrics?.observer, tracing?.observer, queryLog.observer].filter((one) => one !== undefined);
  const handle = openAdminApp(() => {
    const { connectionStatus, caches } = service;
    return { health: { connectionStatus, caches, heartbeats }, isDraining, metrics: metricsPage };
  }, report);
  const sendsServerTiming = isDev || tracing !== undefined || log.level === "debug" || log.level === "trace";
  return {
    observers,
    surface: {
      prepare: async (next) => () => {
        service = next;
        queryLog.use(next.project);
        heartbeats.use(heartbeatInputOf(next));
      },
      pause: heartbeats.pause,
      drain() {
        isDraining = true;
        heartbeats.stop();
      },
      // `pause` and `drain` already cancel heartbeats.
      cancelAll() {},
      endStreams() {},
    },
    rest: {
      admin: observability.admin === undefined ? { metrics: metricsPage, heartbeats } : "elsewhere",
      sendsServerTiming,
    },
    admin: observability.admin && { ...observability.admin, handle },
    async close() {
      heartbeats.stop();
      await tracing?.close();
    },
  };
}

function heartbeatInputOf(service: Service): HeartbeatInput {
  const { project, endpoints } = service;
  return {
    services: service,
    endpoints: endpoints.flatMap((endpoint, index) => {
      const heartbeat = project.endpoints[index]?.heartbeat;
      return heartbeat === undefined ? [] : { endpoint, heartbeat };
    }),
    intervalMs: project.main.observability.heartbeatMs,
  };
}
