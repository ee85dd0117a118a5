import { block, choice, enabled, filledText, flag, port, record, text, texts } from "./blocks.ts";

/** One line per call, for auditors. */
export const audit = block({
  enabled,
  sink: choice(["stdout", "file"]).optional(),
  path: filledText.optional().describe("File of the sink 'file'."),
  redact: texts.prefault([]).describe("Parameters whose values are not written."),
});

/** Served on the admin listener, or on the REST port for every client. */
export const metrics = block({
  enabled,
  public: flag.prefault(false).describe("Serve /metrics on the REST port, to every client."),
});

/** OTLP export. */
export const tracing = block({
  enabled,
  endpoint: filledText.prefault("http://127.0.0.1:4318").describe("Base URL of the collector."),
  "service-name": filledText.prefault("eider"),
  headers: record(text).prefault({}),
  "sample-ratio": text
    .refine((value) => /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(value), "expected a number from 0 to 1")
    .prefault(1),
});

/** A listener of its own for health and metrics. */
export const admin = block({ enabled, port: port.prefault(9090), host: filledText.prefault("127.0.0.1") });
