import type { PageOfRows } from "../../calls/run-endpoint.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { Format } from "../../formats/format.ts";
import { type CorsPolicy, variesByOrigin } from "../../http/cors.ts";
import { canonicalHeaderName } from "../../params/parameter.ts";
import { nextLink } from "../next-link.ts";

/** Alternating names and values, the form that Node writes fastest. */
export type HeaderList = readonly string[];

/** The caching headers that all responses of an endpoint share. Computed at load. */
export interface CachingRules {
  /** The request headers that the response depends on. */
  readonly vary: string;
  /** Shared caches must not store the response, because it belongs to one user or tenant. */
  readonly isPrivate: boolean;
}

/** Responses differ by format and compression, by declared headers, by user, and by origin where CORS names one. */
export function cachingRules(
  { auth, parameters }: Pick<Endpoint, "auth" | "parameters">,
  cors: CorsPolicy | undefined,
): CachingRules {
  const declared = parameters.filter((parameter) => parameter.in === "header");
  const names = ["Accept", "Accept-Encoding", ...declared.map(({ name }) => canonicalHeaderName(name))];
  if (auth !== undefined) names.push("Authorization");
  if (variesByOrigin(cors)) names.push("Origin");
  return { vary: [...new Set(names)].join(", "), isPrivate: auth !== undefined || declared.length > 0 };
}

/** The inputs of a response's caching headers. */
export interface CachingInfo extends CachingRules {
  /** The snapshot that the rows come from, where there is one. */
  readonly cached: CachedResponse | undefined;
}

/** A response from a cache. */
export interface CachedResponse {
  /** Identifies snapshot and request: an ETag without its quotes. Undefined if there is none. */
  readonly tag: string | undefined;
  readonly state: "hit" | "miss" | "stale";
  /** Seconds since the snapshot was made. */
  readonly age: () => number;
  /** The refresh interval of the cache. Undefined without a schedule. */
  readonly scheduleMs: number | undefined;
}

/** The headers that depend on when a cached response is sent. */
export function snapshotHeaders(cached: CachedResponse | undefined): HeaderList {
  return cached === undefined ? [] : ["Age", String(cached.age()), "X-Cache", cached.state];
}

/**
 * Only the database knows how long rows stay current, so clients revalidate before each use; with the ETag that costs a
 * 304. Rows from a cache are current until its next refresh. `Vary` alone does not keep tenants apart: proxies may
 * treat an absent header and an empty one as equal, or be configured to ignore `Vary`.
 */
function cacheControl({ isPrivate, cached }: CachingInfo): string {
  const fresh = cached?.scheduleMs === undefined ? "no-cache" : `max-age=${Math.ceil(cached.scheduleMs / 1000)}`;
  return isPrivate ? `private, ${fresh}` : fresh;
}

/** The headers of every successful read, including 304. See docs/http.md. */
export function responseHeaders(page: PageOfRows | undefined, next: string, cachingInfo: CachingInfo): HeaderList {
  const { vary } = cachingInfo;
  const caching = cacheControl(cachingInfo);
  if (page === undefined) return ["Vary", vary, "Cache-Control", caching];
  const { total, offset, limit } = page;
  return [
    "Vary",
    vary,
    "Cache-Control",
    caching,
    "X-Total-Count",
    String(total),
    "X-Offset",
    String(offset),
    "X-Limit",
    String(limit),
    "X-Next",
    next,
  ];
}

/** The link to the next page; empty when there is none. */
export function nextPage(page: PageOfRows | undefined, url: string): string {
  if (page === undefined) return "";
  const next = page.offset + page.limit;
  return page.limit > 0 && next < page.total ? nextLink(url, next) : "";
}

/** Makes browsers save the file under this name. */
export function attachmentHeaders(endpoint: Pick<Endpoint, "route">, { name }: Pick<Format, "name">): HeaderList {
  return ["Content-Disposition", `attachment; filename="${fileNameOf(endpoint)}.${name}"`];
}

/** The last fixed segment of the path, in characters that every file system allows. */
export function fileNameOf({ route }: Pick<Endpoint, "route">): string {
  const last = route?.segments.findLast((segment) => segment.kind === "text");
  const safe = last?.kind === "text" ? last.text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "") : "";
  return safe === "" ? "data" : safe;
}
