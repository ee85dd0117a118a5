import type { MainInput } from "./schema/main.ts";
import { errorAt, partLocation, type Report, type Spot } from "./tree.ts";

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
export interface ObservationConfig {
  /** The listener of its own for health and metrics; undefined when they are on that of REST. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly hasMetrics: boolean;
  readonly tracing: TracingConfig | undefined;
  /** How often endpoints with a heartbeat are run; undefined: never. */
  readonly heartbeatMs: number | undefined;
}

interface Source {
  readonly input: MainInput;
  readonly spot: Spot;
  readonly http: { readonly host: string; readonly port: number };
}

const ADMIN_PORT = 9090;
/** Where collectors listen on the same machine. */
const COLLECTOR = "http://127.0.0.1:4318";
const HEARTBEAT_SECONDS = 10;

export function compileObservation(source: Source, report: Report): ObservationConfig {
  const { heartbeat, metrics } = source.input;
  const isBeating = heartbeat !== undefined && heartbeat.enabled !== false;
  return {
    admin: adminOf(source, report),
    hasMetrics: metrics?.enabled !== false,
    tracing: tracingOf(source, report),
    heartbeatMs: isBeating ? (heartbeat["worker-interval"] ?? HEARTBEAT_SECONDS) * 1000 : undefined,
  };
}

function adminOf({ input: { admin }, spot, http }: Source, report: Report): ObservationConfig["admin"] {
  if (admin === undefined || admin.enabled === false) return undefined;
  const { host = "127.0.0.1", port = ADMIN_PORT } = admin;
  if (port === http.port && port !== 0 && host === http.host) {
    const path = ["admin", "port"];
    report(errorAt(partLocation(spot, path), path, `${port} is the port of the REST listener; choose another`));
  }
  return { host, port };
}

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

function tracingOf({ input, spot }: Source, report: Report): TracingConfig | undefined {
  const { tracing } = input;
  if (tracing === undefined || tracing.enabled === false) return undefined;
  const { endpoint = COLLECTOR, headers = {} } = tracing;
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
    serviceName: tracing["service-name"] ?? "eider",
    headers,
    sampleRatio: Number(tracing["sample-ratio"] ?? 1),
  };
}
