import { z } from "zod";
import { describeInput, PlainScalar, SCALARS } from "../../params/validators/scalars.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { auth, rateLimit } from "./auth.ts";
import {
  block,
  bytes,
  choice,
  enabled,
  fineDuration,
  flag,
  integer,
  nonEmptyString,
  port,
  record,
  string,
  strings,
} from "./blocks.ts";
import { ducklake, mainCache } from "./cache.ts";
import { connection } from "./connections.ts";
import { httpStatus } from "./http-status.ts";
import { mcp } from "./mcp.ts";
import { admin, audit, metrics, tracing } from "./observability.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** A DuckDB setting as a string. A list is converted to a DuckDB list literal. */
const setting = z
  .unknown()
  .transform((input, context): string => {
    if (typeof input === "string") return input;
    if (input instanceof PlainScalar && input.source !== "") return input.source;
    if (Array.isArray(input) && input.every((item) => typeof item === "string")) {
      return `[${input.map(quoteLiteral).join(", ")}]`;
    }
    context.addIssue({
      code: "custom",
      message: `expected the value of a DuckDB setting, found ${describeInput(input)}`,
    });
    return z.NEVER;
  })
  .meta({ type: [...SCALARS, "array"], items: { type: "string" } });

const limits = block({
  "max-body-bytes": bytes.prefault("1MiB").describe("Largest request body."),
  "max-page-size": integer({ min: 1 }).prefault(10_000).describe("Largest value of limit."),
  "default-page-size": integer({ min: 1 }).prefault(100).describe("Rows per page if the request sets no limit."),
  "query-timeout": fineDuration.prefault("30s"),
  "max-concurrent-queries": integer({ min: 1, max: 64 }).optional(),
  "max-queued-requests": integer().optional(),
  "max-buffered-bytes": bytes.prefault("64MiB"),
  "max-value-bytes": bytes.prefault("64MiB").describe("Largest value that a query may return."),
  "stalled-client-timeout": fineDuration.prefault("60s"),
  "shutdown-grace": fineDuration.prefault("10s"),
});

export const cors = block({
  enabled,
  "allow-origins": strings.optional(),
  "allow-headers": strings.optional(),
  "allow-methods": strings.optional(),
  "allow-credentials": flag.prefault(false),
  "max-age": integer().prefault(600).describe("Seconds."),
});

/** The main configuration file. */
export const mainSchema = block({
  "project-name": nonEmptyString.optional().describe("Title of the documentation."),
  "project-description": string.prefault(""),
  "project-version": nonEmptyString.prefault("1.0.0"),
  "http-port": port.prefault(8080),
  "http-host": nonEmptyString.prefault("127.0.0.1"),
  template: block({
    path: nonEmptyString
      .prefault(".")
      .describe("Folder of endpoint files and SQL templates, from the folder of this file."),
    "environment-whitelist": strings.optional().describe("Names or regular expressions of variables that may be read."),
  }).prefault({}),
  "environment-whitelist": strings.optional().describe("Read like template.environment-whitelist."),
  connections: record(connection).prefault({}).describe("Data sources by name."),
  duckdb: record(setting).prefault({}).describe("db_path, and DuckDB settings by name."),
  auth: auth.optional().describe("For every endpoint that has no block of its own."),
  "rate-limit": rateLimit.optional().describe("For every endpoint that has no block of its own."),
  "enforce-https": block({
    enabled,
    "ssl-cert-file": nonEmptyString.optional(),
    "ssl-key-file": nonEmptyString.optional(),
  }).optional(),
  "trusted-proxies": strings.optional().describe("Addresses whose X-Forwarded headers are believed."),
  mcp: mcp.optional(),
  cors: cors.optional(),
  limits: limits.prefault({}),
  "http-status": httpStatus.prefault({}).describe("Statuses of writes."),
  cache: mainCache.prefault({}),
  ducklake: ducklake.prefault({}),
  heartbeat: block({
    enabled,
    "worker-interval": integer({ min: 1, max: 86_400 }).prefault(10).describe("Seconds."),
  }).optional(),
  docs: block({ enabled, auth: flag.prefault(false) }).prefault({}),
  log: block({
    level: choice(logLevels).prefault("info"),
    format: choice(["pretty", "json"]).optional().describe("pretty on a terminal, else json."),
    "slow-query": fineDuration.optional().describe("Queries that take longer are logged."),
  }).prefault({}),
  audit: audit.optional(),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  admin: admin.optional(),
});

export type MainInput = z.output<typeof mainSchema>;
