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
  "max-page-size": integer({ min: 1 }).prefault(10_000).describe("Largest limit that a client can request."),
  "default-page-size": integer({ min: 1 }).prefault(100).describe("Rows per page if the request sets no limit."),
  "query-timeout": fineDuration.prefault("30s").describe("Time that a request can spend in the database."),
  "max-concurrent-queries": integer({ min: 1, max: 64 }).optional().describe("Queries that run at the same time."),
  "max-queued-requests": integer().optional().describe("Requests that wait for a query slot."),
  "max-buffered-bytes": bytes.prefault("64MiB").describe("Largest Arrow response that is sent with its length."),
  "max-value-bytes": bytes.prefault("64MiB").describe("Largest value that a query can return."),
  "stalled-client-timeout": fineDuration
    .prefault("60s")
    .describe("Disconnect clients that read nothing for this long."),
  "shutdown-grace": fineDuration.prefault("10s").describe("Time for requests in flight to finish at shutdown."),
});

export const cors = block({
  enabled,
  "allow-origins": strings
    .optional()
    .describe("Origins of web pages that may call, for example https://app.example.com."),
  "allow-headers": strings.optional().describe("Request headers that web pages may send; by default, any."),
  "allow-methods": strings.optional().describe("Methods that web pages may use; by default, all."),
  "allow-credentials": flag.prefault(false).describe("Allow requests with cookies or HTTP authentication."),
  "max-age": integer().prefault(600).describe("Seconds for which browsers cache these rules."),
});

/** The main configuration file. */
export const mainSchema = block({
  "project-name": nonEmptyString.optional().describe("Title of the API."),
  "project-description": string.prefault("").describe("Description of the API."),
  "project-version": nonEmptyString.prefault("1.0.0").describe("Version of the API."),
  "http-port": port.prefault(8080),
  "http-host": nonEmptyString.prefault("127.0.0.1").describe("Address of the REST listener."),
  template: block({
    path: nonEmptyString.prefault(".").describe("Folder of endpoint files and SQL templates, relative to this file."),
    "environment-whitelist": strings
      .optional()
      .describe("Environment variables that the project may read: names or regular expressions."),
  }).prefault({}),
  "environment-whitelist": strings.optional().describe("Added to template.environment-whitelist."),
  connections: record(connection).prefault({}).describe("Connections to data sources, by name."),
  duckdb: record(setting).prefault({}).describe("DuckDB settings by name, and db_path, the database file."),
  auth: auth.optional().describe("Authentication of endpoints that have no auth block of their own."),
  "rate-limit": rateLimit.optional().describe("Rate limit of endpoints that have no rate-limit block of their own."),
  "enforce-https": block({
    enabled,
    "ssl-cert-file": nonEmptyString.optional().describe("Certificate with its chain (PEM); enables TLS."),
    "ssl-key-file": nonEmptyString.optional().describe("Private key of the certificate (PEM)."),
  })
    .optional()
    .describe("Reject or redirect requests over plain HTTP."),
  "trusted-proxies": strings.optional().describe("Addresses of proxies whose X-Forwarded headers are trusted."),
  mcp: mcp.optional(),
  cors: cors.optional(),
  limits: limits.prefault({}),
  "http-status": httpStatus.prefault({}).describe("Response statuses of writes."),
  cache: mainCache.prefault({}),
  ducklake: ducklake.prefault({}),
  heartbeat: block({
    enabled,
    "worker-interval": integer({ min: 1, max: 86_400 }).prefault(10).describe("Seconds between runs."),
  })
    .optional()
    .describe("Run the endpoints that have a heartbeat block, for /health/ready."),
  docs: block({ enabled, auth: flag.prefault(false).describe("Require the global auth block.") })
    .prefault({})
    .describe("The documentation at /docs."),
  log: block({
    level: choice(logLevels).prefault("info").describe("Lines below this level are omitted."),
    format: choice(["pretty", "json"]).optional().describe("By default, pretty on a terminal and json elsewhere."),
    "slow-query": fineDuration.optional().describe("Log requests that spend at least this long in the database."),
  }).prefault({}),
  audit: audit.optional(),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  admin: admin.optional(),
});

export type MainInput = z.output<typeof mainSchema>;
