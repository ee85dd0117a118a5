import { formSchema } from "../../params/validators/scalars.ts";
import { block, choice, enabled, flag, nonEmptyString, port, record, string, strings } from "./blocks.ts";

/** The audit log: one line per call. */
export const audit = block({
  enabled,
  sink: choice(["stdout", "file"]).optional(),
  path: nonEmptyString.optional().describe("File of the sink 'file'."),
  redact: strings.prefault([]).describe("Parameters whose values are not written."),
});

/** Served on the admin listener, or on the REST port for every client. */
export const metrics = block({
  enabled,
  public: flag.prefault(false).describe("Serve /metrics on the REST port, to every client."),
});

/** OTLP export. */
export const tracing = block({
  enabled,
  endpoint: nonEmptyString.prefault("http://127.0.0.1:4318").describe("Base URL of the collector."),
  "service-name": nonEmptyString.prefault("eider"),
  headers: record(string).prefault({}),
  "sample-ratio": string
    .refine((value) => /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(value), "expected a number from 0 to 1")
    .meta(formSchema("0(?:\\.[0-9]+)?|1(?:\\.0+)?", { type: ["number", "string"], minimum: 0, maximum: 1 }))
    .prefault(1),
});

/** A separate listener for health and metrics. */
export const admin = block({ enabled, port: port.prefault(9090), host: nonEmptyString.prefault("127.0.0.1") });
