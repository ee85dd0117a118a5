import { isLoopback } from "./access-config.ts";
import type { MainInput } from "./schema/main.ts";
import { errorAt, keyLocation, partLocation, type Report, type Spot, securityWarningAt, warningAt } from "./tree.ts";

/** Export of traces by OTLP. */
export interface TracingConfig {
  /** Base URL of the collector. */
  readonly endpoint: string;
  readonly serviceName: string;
  /** Sent with every export. They may hold secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The share of calls that are traced, of those that came without a word about it. */
  readonly sampleRatio: number;
}

/** How a service is watched from outside. decisions 1. */
export interface ObservabilityConfig {
  /** The separate listener for health and metrics; undefined when health is on the REST port. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  /** Undefined when they are off. `onRest`: `/metrics` is on the REST port, for every client. */
  readonly metrics: { readonly onRest: boolean } | undefined;
  readonly tracing: TracingConfig | undefined;
  /** How often endpoints with a heartbeat are run; undefined: never. */
  readonly heartbeatMs: number | undefined;
}

interface ObservabilityInput {
  readonly input: MainInput;
  readonly spot: Spot;
  readonly http: { readonly host: string; readonly port: number };
}

export function compileObservability(source: ObservabilityInput, report: Report): ObservabilityConfig {
  const { heartbeat } = source.input;
  const admin = adminOf(source, report);
  return {
    admin,
    metrics: metricsOf(source, admin, report),
    tracing: tracingOf(source, report),
    heartbeatMs: heartbeat?.enabled === true ? heartbeat["worker-interval"] * 1000 : undefined,
  };
}

function adminOf({ input: { admin }, spot, http }: ObservabilityInput, report: Report): ObservabilityConfig["admin"] {
  if (admin?.enabled !== true) return undefined;
  const { host, port } = admin;
  if (port === http.port && port !== 0 && host === http.host) {
    const path = ["admin", "port"];
    report(errorAt(partLocation(spot, path), path, `${port} is the port of the REST listener; choose another`));
  }
  return { host, port };
}

/**
 * Only this key opens `/metrics` on the REST port. The client's address cannot: behind a proxy on the same host every
 * client is local.
 */
function metricsOf(
  { input: { metrics }, spot, http }: ObservabilityInput,
  admin: ObservabilityConfig["admin"],
  report: Report,
): ObservabilityConfig["metrics"] {
  if (metrics?.enabled === false) return undefined;
  const onRest = metrics?.public === true && admin === undefined;
  const path = ["metrics", "public"];
  if (metrics?.public === true && admin !== undefined) {
    const message = `without effect: /metrics is on the admin listener, ${admin.host}:${admin.port}; remove this`;
    report(warningAt(keyLocation(spot, path), path, message));
  } else if (onRest && !isLoopback(http.host)) {
    const message = `every client that reaches ${http.host} can read /metrics; enable admin instead`;
    report(securityWarningAt(keyLocation(spot, path), path, message));
  } else if (metrics !== undefined && !onRest && admin === undefined) {
    const message = "/metrics is not served; enable admin, or set metrics.public: true to serve it on the REST port";
    report(warningAt(keyLocation(spot, ["metrics"]), ["metrics"], message));
  }
  return { onRest };
}

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

function tracingOf({ input, spot }: ObservabilityInput, report: Report): TracingConfig | undefined {
  const { tracing } = input;
  if (tracing?.enabled !== true) return undefined;
  const { endpoint, headers } = tracing;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    const path = ["tracing", "endpoint"];
    report(errorAt(partLocation(spot, path), path, "expected the base URL of a collector, http://127.0.0.1:4318"));
  }
  for (const [name, value] of Object.entries(headers)) {
    if (HEADER.test(name) && !/[^\t\x20-\x7e]/.test(value)) continue;
    const path = ["tracing", "headers", name];
    report(errorAt(partLocation(spot, path), path, "this cannot be sent as a header"));
  }
  return {
    endpoint: endpoint.replace(/\/$/, ""),
    serviceName: tracing["service-name"],
    headers,
    sampleRatio: Number(tracing["sample-ratio"]),
  };
}
