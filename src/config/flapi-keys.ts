import { basename } from "node:path";
import type { KeyRule } from "./key-rules.ts";

/** Whether a main file was written for flAPI, as its name shows: `flapi.yaml`, or a variant such as `flapi-test.yaml`. */
export function isFlapiFile(path: string): boolean {
  return /^flapi(?:[._-].*)?\.ya?ml$/.test(basename(path));
}

// Rules for flAPI's keys and for common mistakes, applied to a file before the schema checks it.

const authentication = "there is no such key; configure authentication under 'auth'";
const noTelemetry = "Eider sends no telemetry";
const notUsed = "Eider does not need it";

const hyphenRules = (prefix: string, ...keys: readonly string[]): readonly KeyRule[] =>
  keys.map((key) => ({ at: `${prefix}${key}`, kind: "renamed", to: key.replaceAll("_", "-") }));

const ignoreRules = (why: string, ...paths: readonly string[]): readonly KeyRule[] =>
  paths.map((at) => ({ at, kind: "ignored", why }));

const authRules = (prefix: string): readonly KeyRule[] => [
  ...hyphenRules(prefix, "jwt_secret", "jwt_issuer"),
  {
    at: `${prefix}roles`,
    kind: "mistake",
    message: "there is no such key; to restrict access by role, check auth.roles in the SQL template",
  },
];

export const mainRules: readonly KeyRule[] = [
  { at: "rate_limit", kind: "renamed", to: "rate-limit", quiet: true },
  { at: "mcp.tasks.default-ttl-ms", kind: "renamed", to: "ttl-ms", quiet: true },
  { at: "version", kind: "renamed", to: "project-version" },
  ...hyphenRules("", "project_name", "project_description"),
  ...hyphenRules("ducklake.", "metadata_path", "data_path"),
  ...hyphenRules("ducklake.retention.", "keep_last_snapshots", "max_snapshot_age"),
  ...hyphenRules("ducklake.scheduler.", "scan_interval"),
  ...hyphenRules("enforce-https.", "ssl_cert_file", "ssl_key_file"),
  ...hyphenRules("tracing.", "service_name"),
  ...authRules("auth."),
  ...authRules("mcp.auth."),
  ...ignoreRules(noTelemetry, "telemetry"),
  ...ignoreRules(notUsed, "server-name", "storage", "cache-schema", "connections.*.allow"),
  ...ignoreRules("use log.level", "log-level"),
  ...ignoreRules("use log.format", "log-format"),
  ...ignoreRules("use limits.query-timeout", "stall-timeout-s"),
  ...ignoreRules("to run one query at a time, set max-concurrency: 1", "connections.*.serialize-access"),
  ...ignoreRules(notUsed, "ducklake.override-data-path", "ducklake.data-inlining-row-limit"),
  ...ignoreRules(notUsed, "mcp.allow-list-changed-notifications", "mcp.strict-descriptions"),
  ...ignoreRules(notUsed, ...tracingKeys().map((key) => `tracing.${key}`)),
  { at: "security", kind: "mistake", message: authentication },
  { at: "authentication", kind: "mistake", message: authentication },
  { at: "server", kind: "mistake", message: "there is no such key; use http-port and http-host" },
  {
    at: "https",
    kind: "mistake",
    message: "there is no such key; use enforce-https with ssl-cert-file and ssl-key-file",
  },
];

export const endpointRules: readonly KeyRule[] = [
  { at: "rate_limit", kind: "renamed", to: "rate-limit", quiet: true },
  { at: "request.*.defaultValue", kind: "renamed", to: "default" },
  { at: "request.*.validators.*.allowed-values", kind: "renamed", to: "allowedValues" },
  { at: "request.*.validators.*.prevent-sql-injection", kind: "renamed", to: "preventSqlInjection" },
  { at: "cache.primaryKey", kind: "renamed", to: "primary-key" },
  { at: "operation.returnsData", kind: "renamed", to: "returns-data" },
  { at: "operation.validateBeforeWrite", kind: "renamed", to: "validate-before-write" },
  ...hyphenRules("cache.", "template_file"),
  ...hyphenRules("cache.retention.", "keep_last_snapshots", "max_snapshot_age"),
  ...hyphenRules("mcp-tool.", "result_mime_type"),
  ...hyphenRules("mcp-resource.", "mime_type"),
  ...authRules("auth."),
  ...ignoreRules("the validators determine the type", "request.*.field-type"),
  ...ignoreRules(notUsed, "cache.delete-handling", "cache.deleteHandling"),
  ...ignoreRules("use cache.retention", "cache.rollback-window", "cache.rollbackWindow"),
  {
    at: "methods",
    kind: "mistake",
    message: "there is no such key; set 'method' to one method, and write one file per method",
  },
  {
    at: "response",
    kind: "mistake",
    message:
      "there is no such key; clients choose the format, and only with-pagination and returns change the response",
  },
  { at: "security", kind: "mistake", message: authentication },
  { at: "authentication", kind: "mistake", message: authentication },
  {
    at: "http-status",
    kind: "mistake",
    message: "in an endpoint file, this key belongs under 'operation'; write operation.http-status",
  },
  { at: "operation.returns", kind: "mistake", message: "move this key to the top level of the file" },
];

/** In flAPI projects, these names from flAPI's guide are accepted too. In other projects, they are errors. */
export const flapiEndpointRules: readonly KeyRule[] = [
  ...endpointRules,
  { at: "request.*.validators.*.values", kind: "renamed", to: "allowedValues" },
  { at: "request.*.validators.*.pattern", kind: "renamed", to: "regex" },
  {
    at: "request.*.validators.*.type",
    kind: "renamed-value",
    values: { integer: "int", float: "number", double: "number", bool: "boolean" },
  },
];

/** flAPI's keys in the MCP blocks, and what to do instead. In flAPI, `allowed-roles` restricts access. */
export const ignoredMcpKeys: Readonly<Record<string, string>> = {
  "allowed-roles": "every client that passes mcp.auth may use it; check auth.roles in the SQL template",
  response: "select the columns and limit the rows in the SQL template",
  "rate-limit": "write rate-limit at the top level of this file",
  "uri-template": "use its path as the name, for example customers/{id}",
};

function tracingKeys(): readonly string[] {
  return [
    "exporter",
    "protocol",
    "timeout_ms",
    "capture",
    "openinference",
    "exclude_routes",
    "sample",
    "flush",
    "file",
    "resource_attributes",
    "payload",
    "service_namespace",
    "db_profiling",
  ];
}
