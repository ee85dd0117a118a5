import { block, choice, filledText, flag, port, record, text, texts } from "./blocks.ts";

/** One line per call, for auditors. */
export const audit = block({
  enabled: flag.optional(),
  sink: choice(["stdout", "file"]).optional(),
  path: filledText.optional().describe("File of the sink 'file'."),
  redact: texts.optional().describe("Parameters whose values are not written."),
});

/** Served on the admin listener, or on the REST port for every client. */
export const metrics = block({
  enabled: flag.optional(),
  public: flag.optional().describe("Serve /metrics on the REST port, to every client."),
});

/** OTLP export. */
export const tracing = block({
  enabled: flag.optional(),
  endpoint: filledText.optional().describe("Base URL of the collector."),
  "service-name": filledText.optional(),
  headers: record(text).optional(),
  "sample-ratio": text
    .refine((value) => /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(value), "expected a number from 0 to 1")
    .optional(),
});

/** A listener of its own for health and metrics. */
export const admin = block({ enabled: flag.optional(), port: port.optional(), host: filledText.optional() });
