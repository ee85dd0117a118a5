import type { AuthPolicy } from "../auth/policy.ts";
import type { Parameter } from "../params/parameter.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import type { Permission } from "../sql/privileged-action.ts";
import type { AccessConfig } from "./access-config.ts";
import type { CacheConfig, CacheStorage } from "./cache-config.ts";
import type { HeartbeatConfig } from "./heartbeat.ts";
import type { McpSettings } from "./mcp-config.ts";
import type { ObservabilityConfig } from "./observability-config.ts";
import type { Locate, Problem } from "./problem.ts";
import type { Method } from "./schema/endpoint.ts";
import type { HttpStatusInput } from "./schema/http-status.ts";
import type { LogLevel } from "./schema/main.ts";
import type { SourceFile } from "./tree.ts";

export interface ConnectionConfig {
  readonly name: string;
  /** As written, without the SQL of `type`, which `initOf` adds. */
  readonly init: string | undefined;
  readonly type: string | undefined;
  /** The name of the engine on another machine that runs the SQL. Undefined for the embedded engine. */
  readonly engine: string | undefined;
  /** The options of `type` or `engine`, with paths made absolute. */
  readonly options: Readonly<Record<string, string>>;
  /** The values of `conn.<key>` in templates, with paths made absolute. */
  readonly properties: ReadonlyMap<string, string>;
  readonly readOnly: boolean;
  readonly lazy: boolean;
  /** How long startup waits for it, if it is lazy. */
  readonly connectTimeoutMs: number;
  readonly maxConcurrency: number | undefined;
  readonly logQueries: boolean;
  readonly logParameters: boolean;
  /** Environment values used in this connection, and its credentials. */
  readonly secrets: readonly string[];
}

export interface Limits {
  readonly maxBodyBytes: number;
  readonly maxPageSize: number;
  readonly defaultPageSize: number;
  readonly queryTimeoutMs: number;
  readonly maxConcurrentQueries: number | undefined;
  readonly maxQueuedRequests: number | undefined;
  readonly maxBufferedBytes: number;
  readonly maxValueBytes: number;
  readonly stalledClientTimeoutMs: number;
  readonly shutdownGraceMs: number;
}

/** The main configuration file, with defaults. */
export interface MainConfig {
  /** Absolute path. */
  readonly file: string;
  readonly folder: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly http: { readonly host: string; readonly port: number };
  /** The folder of endpoint files and templates: `template.path`, or the folder of the main file if that is a URL. */
  readonly templatePath: string;
  /** `template.path` if it is a URL. */
  readonly templateAddress: string | undefined;
  readonly connections: ReadonlyMap<string, ConnectionConfig>;
  /** DuckDB settings by name, without `db_path`. */
  readonly duckdb: { readonly path: string | undefined; readonly settings: ReadonlyMap<string, string> };
  readonly limits: Limits;
  /** The statuses of writes, unless an endpoint overrides them. */
  readonly httpStatus: HttpStatusInput;
  readonly access: AccessConfig;
  /** Settings of `/docs`. Undefined if it is disabled. */
  readonly docs: { readonly needsAuth: boolean } | undefined;
  /** Undefined if MCP is disabled. */
  readonly mcp: McpSettings | undefined;
  /** Undefined if caching is disabled. */
  readonly cache: CacheStorage | undefined;
  readonly log: {
    readonly level: LogLevel;
    readonly format: "pretty" | "json" | undefined;
    /** Queries that take longer are logged. Undefined if the slow query log is disabled. */
    readonly slowQueryMs: number | undefined;
  };
  readonly observability: ObservabilityConfig;
  readonly locate: Locate;
}

export interface RestConfig {
  readonly method: Method;
  /** Without a trailing slash, except `/` itself. */
  readonly urlPath: string;
}

/** One object, or a list of rows. */
export type Returns = "one" | "many";

/** The configurable statuses of a write, for the method of its endpoint. */
export interface WriteStatuses {
  /** `client-error`: 409 for unique and exclusion constraints, 422 for others. */
  readonly constraintFailure: "500" | "client-error";
  /** The status if rows were changed. */
  readonly changed: 200 | 201;
  /** The status if no row was changed. */
  readonly unchanged: 200 | 404;
}

export interface OperationConfig {
  readonly kind: "read" | "write";
  readonly returnsData: boolean;
  readonly transaction: boolean;
  readonly validateBeforeWrite: boolean;
  /** Additional permissions of a write. */
  readonly allow: readonly Permission[];
  readonly statuses: WriteStatuses;
}

export type McpConfig =
  | {
      readonly kind: "tool";
      readonly name: string;
      readonly description: string;
      readonly mimeType: string;
      /** As written, or GET. Determines the annotations of a write tool. */
      readonly method: Method;
    }
  | { readonly kind: "resource"; readonly name: string; readonly description: string; readonly mimeType: string }
  | {
      readonly kind: "prompt";
      readonly name: string;
      readonly description: string;
      readonly template: string;
      readonly arguments: readonly string[];
    };

/** One endpoint file, validated, with its files read and its references resolved. */
export interface EndpointConfig {
  /** The path as shown in messages. */
  readonly file: string;
  readonly rest: RestConfig | undefined;
  readonly mcp: McpConfig | undefined;
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly deprecated: boolean;
  /** Undefined only for a prompt. */
  readonly template: SourceFile | undefined;
  readonly connections: readonly ConnectionConfig[];
  readonly parameters: readonly Parameter[];
  readonly returns: Returns;
  /** False for `returns: one`. */
  readonly paginated: boolean;
  readonly rejectsUnknownParams: boolean;
  readonly operation: OperationConfig;
  /** From the endpoint's own block, or the global one. */
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
  /** The number of queries that may run at the same time. */
  readonly maxConcurrency: number | undefined;
  readonly cache: CacheConfig | undefined;
  /** Undefined if disabled. */
  readonly heartbeat: HeartbeatConfig | undefined;
  readonly locate: Locate;
}

export interface Project {
  readonly main: MainConfig;
  readonly endpoints: readonly EndpointConfig[];
  /** The allowed environment variables that are set, for `{{env.X}}` in SQL templates. */
  readonly environment: ReadonlyMap<string, string>;
  /** Whether `template.environment-whitelist` allows a variable. */
  readonly environmentAllows: (name: string) => boolean;
  /** The variables from the file `.env`. The real environment overrides them. */
  readonly envFile: Readonly<Record<string, string | undefined>>;
}

/** The result of loading a project. */
export interface LoadedProject {
  /** Undefined if at least one problem is an error. */
  readonly project: Project | undefined;
  /** The parts without errors, so that problems in their SQL are reported too. */
  readonly validPart: Project | undefined;
  readonly problems: readonly Problem[];
  /** Every local file that the load tried to read, even if it does not exist. */
  readonly files: readonly string[];
}
