import { z } from "zod";
import { found, PlainScalar } from "../../params/validators/scalars.ts";
import { auth, rateLimit } from "./auth.ts";
import { block, bytes, choice, filledText, fineDuration, flag, port, record, text, texts, whole } from "./blocks.ts";
import { ducklake, mainCache } from "./cache.ts";
import { connection } from "./connections.ts";
import { mcp } from "./mcp.ts";
import { admin, audit, metrics, tracing } from "./observability.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** A DuckDB setting as text; a list becomes DuckDB's own notation of one. */
const setting = z.unknown().transform((input, context): string => {
  if (typeof input === "string") return input;
  if (input instanceof PlainScalar && input.source !== "") return input.source;
  if (Array.isArray(input) && input.every((item) => typeof item === "string")) {
    return `[${input.map((item) => `'${item.replaceAll("'", "''")}'`).join(", ")}]`;
  }
  context.addIssue({ code: "custom", message: `expected the value of a DuckDB setting, found ${found(input)}` });
  return z.NEVER;
});

const limits = block({
  "max-body-bytes": bytes.optional().describe("Largest request body; 1 MiB when absent."),
  "max-page-size": whole({ min: 1 }).optional().describe("Largest limit; 10000 when absent."),
  "default-page-size": whole({ min: 1 }).optional().describe("Rows of a page without limit; 100 when absent."),
  "query-timeout": fineDuration.optional().describe("30s when absent."),
  "max-concurrent-queries": whole({ min: 1, max: 64 }).optional(),
  "max-queued-requests": whole().optional(),
  "max-buffered-bytes": bytes.optional().describe("64 MiB when absent."),
  "max-value-bytes": bytes.optional().describe("Largest value that a query may return; 64 MiB when absent."),
  "stalled-client-timeout": fineDuration.optional().describe("60s when absent."),
  "shutdown-grace": fineDuration.optional().describe("10s when absent."),
});

/** The main configuration file. */
export const mainSchema = block({
  "project-name": filledText.optional().describe("Title of the documentation."),
  "project-description": text.optional(),
  "project-version": filledText.optional().describe("1.0.0 when absent."),
  "http-port": port.optional().describe("8080 when absent."),
  "http-host": filledText.optional().describe("127.0.0.1 when absent."),
  template: block({
    path: filledText.optional().describe("Folder of endpoint files and SQL templates; that of this file when absent."),
    "environment-whitelist": texts.optional().describe("Names or regular expressions of variables that may be read."),
  }).optional(),
  "environment-whitelist": texts.optional().describe("Read like template.environment-whitelist."),
  connections: record(connection).optional().describe("Data sources by name."),
  duckdb: record(setting).optional().describe("db_path, and DuckDB settings by name."),
  auth: auth.optional().describe("For every endpoint that has no block of its own."),
  "rate-limit": rateLimit.optional().describe("For every endpoint that has no block of its own."),
  "enforce-https": block({
    enabled: flag.optional(),
    "ssl-cert-file": filledText.optional(),
    "ssl-key-file": filledText.optional(),
  }).optional(),
  "trusted-proxies": texts.optional().describe("Addresses whose X-Forwarded headers are believed."),
  mcp: mcp.optional(),
  cors: block({
    enabled: flag.optional(),
    "allow-origins": texts.optional(),
    "allow-headers": texts.optional(),
    "allow-methods": texts.optional(),
    "allow-credentials": flag.optional(),
    "max-age": whole().optional().describe("Seconds."),
  }).optional(),
  limits: limits.optional(),
  cache: mainCache.optional(),
  ducklake: ducklake.optional(),
  heartbeat: block({
    enabled: flag.optional(),
    "worker-interval": whole({ min: 1, max: 86_400 }).optional().describe("Seconds; 10 when absent."),
  }).optional(),
  docs: block({ enabled: flag.optional(), auth: flag.optional() }).optional(),
  log: block({
    level: choice(logLevels).optional().describe("info when absent."),
    format: choice(["pretty", "json"]).optional().describe("pretty on a terminal, else json."),
    "slow-query": fineDuration.optional().describe("Queries that take longer are logged."),
  }).optional(),
  audit: audit.optional(),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  admin: admin.optional(),
});

export type MainInput = z.output<typeof mainSchema>;
