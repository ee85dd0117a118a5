import type { Attributes, Span } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { eachPhase } from "../calls/call-marks.ts";
import type { CallEnd, CallObserver, ObservedCall } from "../calls/observed-call.ts";
import type { TracingConfig } from "../config/observability-config.ts";
import type { Report } from "../events.ts";
import { messageMask } from "../secrets.ts";
import { withTimeLimit } from "../time-limit.ts";
import { readTraceparent, writeTraceparent } from "./traceparent.ts";

/** Exports calls as traces: one span per call, with a child span per phase. */
export interface Tracing {
  readonly observer: CallObserver;
  /** Sends the remaining spans, and gives up on a collector that is down. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly report: Report;
  /** How long spans are batched. */
  readonly delayMs?: number;
}

const DEPENDENCY = "trace collector";
const DELAY_MS = 5_000;
/** A slower collector counts as down. */
const EXPORT_MS = 2_000;
/** The time limit for sending the last spans. */
const CLOSE_MS = 2_500;

/** Imports OpenTelemetry on demand, because loading it is slow. */
export async function openTracing(
  config: TracingConfig,
  { report, delayMs = DELAY_MS }: TracingOptions,
): Promise<Tracing> {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import("@opentelemetry/api");
  const sdk = await import("@opentelemetry/sdk-trace-base");
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
  const { resourceFromAttributes } = await import("@opentelemetry/resources");
  const { endpoint, serviceName, headers, sampleRatio } = config;
  const exporter = withReports(
    new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers, timeoutMillis: EXPORT_MS }),
    config,
    report,
  );
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName }),
    // If the client sends a trace, its sampling decision applies.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { scheduledDelayMillis: delayMs })],
  });
  const tracer = provider.getTracer("eider");
  const spans = new WeakMap<ObservedCall, Span>();

  function start(call: ObservedCall): Span {
    const { endpoint: name, surface, startedAt, traceparent } = call;
    const caller = readTraceparent(traceparent);
    const parent =
      caller === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId: caller.traceId,
            spanId: caller.spanId,
            traceFlags: caller.flags,
            isRemote: true,
          });
    const attributes = { "eider.endpoint": name, "eider.surface": surface, ...routeOf(call) };
    return tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: toUnixMs(startedAt), attributes }, parent);
  }

  function end(span: Span, call: ObservedCall, { status, durationMs }: CallEnd): void {
    if (!span.isRecording()) return;
    const { startedAt, marks } = call;
    const endedAt = startedAt + durationMs;
    span.setAttributes(outcomeOf(call, status));
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    const context = trace.setSpan(ROOT_CONTEXT, span);
    if (marks !== undefined) {
      eachPhase({ startedAt, marks }, endedAt, (phase, from, to) => {
        tracer.startSpan(phase, { startTime: toUnixMs(from) }, context).end(toUnixMs(to));
      });
    }
    span.end(toUnixMs(endedAt));
  }

  return {
    observer: {
      needsParameters: false,
      onBegin(call) {
        const span = start(call);
        spans.set(call, span);
        const { traceId, spanId, traceFlags } = span.spanContext();
        const traceparent = writeTraceparent({ traceId, spanId, flags: traceFlags });
        // `traceresponse` is from the draft of Trace Context Level 2.
        return [
          ["traceparent", traceparent],
          ["traceresponse", traceparent],
        ];
      },
      onEnd: (call, ending) => end(spans.get(call) ?? start(call), call, ending),
    },
    close: () =>
      withTimeLimit(
        provider.shutdown().catch(() => {}),
        CLOSE_MS,
        () => {},
      ),
  };
}

/** Converts a time of `performance.now()` to Unix time, which spans need. */
function toUnixMs(mark: number): number {
  return performance.timeOrigin + mark;
}

/** The route, such as `/customers/:id`, never the requested path, which contains values. */
function routeOf({ surface, endpoint }: ObservedCall): Attributes {
  const [, method, route] = (surface === "rest" && /^([A-Z]+) (\/.*)$/.exec(endpoint)) || [];
  return method === undefined || route === undefined ? {} : { "http.request.method": method, "http.route": route };
}

/** Numbers, and names from the project, but no values from requests. OpenTelemetry skips undefined attributes. */
function outcomeOf({ rows, bytes, format, cache, fromResponseCache }: ObservedCall, status: number): Attributes {
  return {
    "http.response.status_code": status,
    "eider.rows": rows,
    "eider.bytes": bytes,
    "eider.format": format,
    "eider.cache": cache,
    "eider.remembered": fromResponseCache || undefined,
  };
}

/** Wraps an exporter. Reports when the collector goes down and when it works again. */
function withReports(exporter: SpanExporter, { headers }: TracingConfig, report: Report): SpanExporter {
  const mask = messageMask(Object.values(headers));
  let isDown = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === 0 && isDown) report({ kind: "dependency-up", dependency: DEPENDENCY });
        if (result.code !== 0 && !isDown) {
          const why = mask(result.error?.message ?? "no reason given");
          report({
            kind: "dependency-down",
            dependency: DEPENDENCY,
            message: `${why}; traces are lost until it is back`,
          });
        }
        isDown = result.code !== 0;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
