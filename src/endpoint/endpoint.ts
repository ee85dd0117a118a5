import type { AuthPolicy } from "../auth/policy.ts";
import type { CacheConfig } from "../config/cache-config.ts";
import type { Location } from "../config/problem.ts";
import type { McpConfig } from "../config/project.ts";
import type { Method } from "../config/schema/endpoint.ts";
import type { SourceFile } from "../config/tree.ts";
import type { QueueGroup } from "../engines/engine.ts";
import type { RecordStore } from "../engines/write-once.ts";
import type { Parameter } from "../params/parameter.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import type { Power } from "../sql/reach.ts";
import type { TemplateScope } from "../sql/scope.ts";
import type { Template } from "../sql/template.ts";

/** What a call of an endpoint does. */
export type Operation =
  | { readonly kind: "read"; readonly paginated: boolean }
  | {
      readonly kind: "write";
      readonly returnsData: boolean;
      readonly transaction: boolean;
      readonly validateBeforeWrite: boolean;
      /** What its template may do beyond its data. */
      readonly allow: readonly Power[];
      /** Where the record of an `Idempotency-Key` is kept. Absent until the endpoint is verified against the database. */
      readonly recordStore?: RecordStore;
    };

/** Whether a client may name its requests by `Idempotency-Key`. */
export function takesKeys({ operation }: Pick<Endpoint, "operation">): boolean {
  return operation.kind === "write" && operation.recordStore?.kind !== "none";
}

/** One part of a path: a fixed text, or a parameter's name. */
export type Segment =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "param"; readonly name: string };

export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly segments: readonly Segment[];
}

/** An endpoint that is ready to be called: everything is looked up, merged and compiled. */
export interface Endpoint {
  /** How people name it: `GET /customers/:id`, `mcp-tool find_customer`. */
  readonly name: string;
  readonly file: string;
  /** Its share of the database. */
  readonly queueGroup: QueueGroup;
  readonly route: Route | undefined;
  readonly mcp: McpConfig | undefined;
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
  readonly parameters: readonly Parameter[];
  readonly rejectsUnknownParams: boolean;
  readonly operation: Operation;
  /** Names of the connections that a call opens. */
  readonly connections: readonly string[];
  /** Absent only for a prompt. */
  readonly template: Template | undefined;
  readonly source: SourceFile | undefined;
  /** The names that the template may use. */
  readonly scope: TemplateScope;
  /** The template uses `params.limit` or `params.offset` itself. */
  readonly pagesItself: boolean;
  /** Whole numbers and booleans are rendered as text, since the SQL takes no parameter where one of them stands. */
  readonly inline: boolean;
  readonly cache: CacheConfig | undefined;
  /** Where the template is named. */
  readonly location: Location;
}
