import { isLoopback } from "./loopback.ts";
import { type Reporter, reporterOf } from "./reporter.ts";
import type { MainInput } from "./schema/main.ts";
import type { NodePositions, Report } from "./tree.ts";

/** The export of traces over OTLP. */
export interface TracingConfig {
  /** Base URL of the collector. */
  readonly endpoint: string;
  readonly serviceName: string;
  /** Sent with every export. May contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The fraction of calls to trace, unless the client decides. */
  readonly sampleRatio: number;
}

export interface ObservabilityConfig {
  /** The separate listener for health and metrics. If undefined, health is on the REST port. */
  readonly admin: ListenAddress | undefined;
  /** Undefined if disabled. With `onRest`, `/metrics` is on the REST port, for every client. */
  readonly metrics: { readonly onRest: boolean } | undefined;
  readonly tracing: TracingConfig | undefined;
  /** The interval of heartbeats. Undefined if disabled. */
  readonly heartbeatMs: number | undefined;
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

interface ObservabilityInput {
  readonly input: MainInput;
  readonly positions: NodePositions;
  readonly http: ListenAddress;
}

export function compileObservability(
  { input, positions, http }: ObservabilityInput,
  report: Report,
): ObservabilityConfig {
  const reporter = reporterOf(positions, report);
  const { heartbeat } = input;
  const admin = adminOf(input, http, reporter);
  return {
    admin,
    metrics: metricsOf(input, { http, admin }, reporter),
    tracing: tracingOf(input, reporter),
    heartbeatMs: heartbeat?.enabled === true ? heartbeat["worker-interval"] * 1000 : undefined,
  };
}

function adminOf({ admin }: MainInput, http: ListenAddress, { error }: Reporter): ListenAddress | undefined {
  if (admin?.enabled !== true) return undefined;
  const { host, port } = admin;
  if (port === http.port && port !== 0 && host === http.host) {
    error(["admin", "port"], `${port} is the port of the REST listener; choose another`);
  }
  return { host, port };
}

/**
 * `/metrics` is on the REST port only if `metrics.public` is set. Local clients are no exception, because behind a proxy on
 * the same host, every client looks local.
 */
function metricsOf(
  { metrics }: MainInput,
  { http, admin }: { readonly http: ListenAddress; readonly admin: ListenAddress | undefined },
  { warning, securityWarning }: Reporter,
): ObservabilityConfig["metrics"] {
  if (metrics?.enabled === false) return undefined;
  const isPublic = metrics?.public === true;
  const path = ["metrics", "public"];
  if (isPublic && admin !== undefined) {
    warning(path, `without effect: /metrics is on the admin listener, ${admin.host}:${admin.port}; remove this`);
  } else if (isPublic && !isLoopback(http.host)) {
    securityWarning(path, `every client that reaches ${http.host} can read /metrics; enable admin instead`);
  } else if (metrics !== undefined && !isPublic && admin === undefined) {
    warning(
      ["metrics"],
      "/metrics is not served; enable admin, or set metrics.public: true to serve it on the REST port",
    );
  }
  return { onRest: isPublic && admin === undefined };
}

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

function tracingOf({ tracing }: MainInput, { error }: Reporter): TracingConfig | undefined {
  if (tracing?.enabled !== true) return undefined;
  const { endpoint, headers } = tracing;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    error(["tracing", "endpoint"], "expected the base URL of a collector, http://127.0.0.1:4318");
  }
  for (const [name, value] of Object.entries(headers)) {
    if (HEADER.test(name) && !/[^\t\x20-\x7e]/.test(value)) continue;
    error(["tracing", "headers", name], "this cannot be sent as a header");
  }
  return {
    endpoint: endpoint.replace(/\/$/, ""),
    serviceName: tracing["service-name"],
    headers,
    sampleRatio: Number(tracing["sample-ratio"]),
  };
}
