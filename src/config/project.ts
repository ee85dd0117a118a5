import type { AuthPolicy } from "../auth/policy.ts";
import type { Parameter } from "../params/parameter.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import type { Power } from "../sql/reach.ts";
import type { AccessConfig } from "./access-config.ts";
import type { CacheConfig, CacheStorage } from "./cache-config.ts";
import type { HeartbeatConfig } from "./heartbeat.ts";
import type { McpSettings } from "./mcp-config.ts";
import type { ObservabilityConfig } from "./observability-config.ts";
import type { Locate, Problem } from "./problem.ts";
import type { Method } from "./schema/endpoint.ts";
import type { LogLevel } from "./schema/main.ts";
import type { SourceFile } from "./tree.ts";

export interface ConnectionConfig {
  readonly name: string;
  /** Complete SQL, typed short forms expanded by the engine's list of connection types. */
  readonly init: string | undefined;
  readonly type: string | undefined;
  /** Options of the typed short form, as written. */
  readonly options: Readonly<Record<string, string>>;
  /** `conn.<key>`; values that start with `./` or `../` are absolute already. */
  readonly properties: ReadonlyMap<string, string>;
  readonly readOnly: boolean;
  readonly lazy: boolean;
  readonly maxConcurrency: number | undefined;
  readonly logQueries: boolean;
  readonly logParameters: boolean;
  /** Values that came from the environment into this connection, and its credentials. */
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

/** The main configuration file, with defaults filled in. */
export interface MainConfig {
  /** Absolute path of the main file, and its folder. */
  readonly file: string;
  readonly folder: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly http: { readonly host: string; readonly port: number };
  readonly templatePath: string;
  readonly connections: ReadonlyMap<string, ConnectionConfig>;
  /** DuckDB settings by name without `db_path`, as text. */
  readonly duckdb: { readonly path: string | undefined; readonly settings: ReadonlyMap<string, string> };
  readonly limits: Limits;
  readonly access: AccessConfig;
  /** The OpenAPI document and its page; undefined when they are switched off. */
  readonly docs: { readonly needsAuth: boolean } | undefined;
  /** The MCP server; undefined when there is none. */
  readonly mcp: McpSettings | undefined;
  /** Where caches are kept; undefined when there is no caching. */
  readonly cache: CacheStorage | undefined;
  readonly log: {
    readonly level: LogLevel;
    readonly format: "pretty" | "json" | undefined;
    /** Calls that spend more than this in the database are logged; undefined: none. */
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

export interface OperationConfig {
  readonly kind: "read" | "write";
  readonly returnsData: boolean;
  readonly transaction: boolean;
  readonly validateBeforeWrite: boolean;
  /** What the template of a write may do beyond its data. */
  readonly allow: readonly Power[];
}

export type McpConfig =
  | {
      readonly kind: "tool";
      readonly name: string;
      readonly description: string;
      readonly mimeType: string;
      /** As written, or GET: it says what a write does to what is there. */
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

/** One endpoint file: known keys only, values of the right types, everything it names read or looked up. */
export interface EndpointConfig {
  /** As problems name it. */
  readonly file: string;
  readonly rest: RestConfig | undefined;
  readonly mcp: McpConfig | undefined;
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly deprecated: boolean;
  /** Absent only for a prompt. */
  readonly template: SourceFile | undefined;
  readonly connections: readonly ConnectionConfig[];
  readonly parameters: readonly Parameter[];
  readonly paginated: boolean;
  readonly rejectsUnknownParams: boolean;
  readonly operation: OperationConfig;
  /** The endpoint's own block, or the global one. */
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
  /** Queries at once. */
  readonly maxConcurrency: number | undefined;
  readonly cache: CacheConfig | undefined;
  /** Undefined when it is not run by itself. */
  readonly heartbeat: HeartbeatConfig | undefined;
  readonly locate: Locate;
}

export interface Project {
  readonly main: MainConfig;
  readonly endpoints: readonly EndpointConfig[];
  /** Values of whitelisted environment variables that are set: for `{{env.X}}` in SQL templates. */
  readonly environment: ReadonlyMap<string, string>;
  /** True for a name that `template.environment-whitelist` lists. */
  readonly environmentAllows: (name: string) => boolean;
}

/** What loading found. */
export interface LoadedProject {
  /** Undefined when at least one problem is an error. */
  readonly project: Project | undefined;
  /** The parts without an error, so that problems of their SQL are reported at the same time. */
  readonly sound: Project | undefined;
  readonly problems: readonly Problem[];
  /** Every file that was read, or would have been. */
  readonly files: readonly string[];
}
