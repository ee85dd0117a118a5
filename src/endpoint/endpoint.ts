import type { AuthPolicy } from "../auth/policy.ts";
import type { CacheName } from "../cache/cache.ts";
import type { CacheConfig } from "../config/cache-config.ts";
import type { Location } from "../config/problem.ts";
import type { McpConfig, Returns, WriteStatuses } from "../config/project.ts";
import type { Method } from "../config/schema/endpoint.ts";
import type { SourceFile } from "../config/tree.ts";
import type { QueueGroup } from "../engines/engine.ts";
import type { RecordStore } from "../engines/write-once.ts";
import { type PageField, pageFields } from "../params/page.ts";
import type { Parameter } from "../params/parameter.ts";
import type { RateLimitPolicy } from "../rate-limit/policy.ts";
import type { Permission } from "../sql/privileged-action.ts";
import type { TemplateScope } from "../sql/scope.ts";
import type { Template } from "../sql/template.ts";

/** The operation of an endpoint. */
export type Operation =
  | {
      readonly kind: "read";
      /** True only if `returns` is `many`. */
      readonly paginated: boolean;
      readonly returns: Returns;
    }
  | {
      readonly kind: "write";
      readonly returnsData: boolean;
      /** Whether `data` is one object or a list. */
      readonly returns: Returns;
      readonly transaction: boolean;
      readonly validateBeforeWrite: boolean;
      /** What the template may do besides changing data. */
      readonly allow: readonly Permission[];
      readonly statuses: WriteStatuses;
      /** Stores the records of `Idempotency-Key`. Undefined until the endpoint is verified against the database. */
      readonly recordStore?: RecordStore;
    };

/**
 * The page fields that a read accepts without declaring them. A read that returns one object has no pages, but its template
 * may use the fields.
 */
export function undeclaredPageFields({
  operation,
  parameters,
  ownPaging,
}: Pick<Endpoint, "operation" | "parameters" | "ownPaging">): readonly PageField[] {
  if (operation.kind === "write") return [];
  return pageFields.filter(
    (field) => (operation.returns === "many" || ownPaging[field]) && !parameters.some(({ name }) => name === field),
  );
}

/** Whether the endpoint supports `Idempotency-Key`. */
export function supportsIdempotencyKey({ operation }: Pick<Endpoint, "operation">): boolean {
  return operation.kind === "write" && operation.recordStore?.kind !== "none";
}

/** A segment of a path: literal text, or the name of a parameter. */
export type Segment =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "param"; readonly name: string };

export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly segments: readonly Segment[];
}

/** A compiled endpoint, ready to be called. */
export interface Endpoint {
  /** For messages and logs, such as `GET /customers/:id` or `mcp-tool find_customer`. */
  readonly name: string;
  readonly file: string;
  /** Limits its share of the query slots. */
  readonly queueGroup: QueueGroup;
  readonly route: Route | undefined;
  readonly mcp: McpConfig | undefined;
  readonly auth: AuthPolicy | undefined;
  readonly rateLimit: RateLimitPolicy | undefined;
  readonly parameters: readonly Parameter[];
  readonly rejectsUnknownParams: boolean;
  readonly operation: Operation;
  /** The names of its connections. */
  readonly connections: readonly string[];
  /** Undefined only for a prompt. */
  readonly template: Template | undefined;
  readonly source: SourceFile | undefined;
  /** The variables that the template may use. */
  readonly scope: TemplateScope;
  /** Whether the template itself uses `params.limit` and `params.offset`. `isInverted`: one of them in an inverted section. */
  readonly ownPaging: { readonly limit: boolean; readonly offset: boolean; readonly isInverted: boolean };
  readonly cache: CacheConfig | undefined;
  /** The cache tables that its SQL names in full, besides that of its own `cache` block. */
  readonly namedCaches: readonly CacheName[];
  /** The location of the `template-source` key. */
  readonly location: Location;
}
