import type { PageOfRows } from "../../calls/run-endpoint.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { FileFormat } from "../../formats/format.ts";
import { type CorsPolicy, variesByOrigin } from "../../http/cors.ts";
import { canonicalHeaderName } from "../../params/parameter.ts";
import { nextLink } from "../next-link.ts";

/** Names and values in turn: the form in which Node writes a head fastest. */
export type HeaderList = readonly string[];

/** What every response of an endpoint tells caches. Computed at load. */
export interface CachingRules {
  /** The request headers that the response depends on. */
  readonly vary: string;
  /** Whether shared caches must not store it: it belongs to one user or tenant. */
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

/** What a response tells caches, whatever its rows are. */
export interface Sharing extends CachingRules {
  /** The snapshot that the rows come from, where there is one. */
  readonly cached: CachedResponse | undefined;
}

/** An answer from a cache. */
export interface CachedResponse {
  /** Names the snapshot and the request; an ETag without its quotes. Undefined where there is none to name. */
  readonly tag: string | undefined;
  readonly state: "hit" | "miss" | "stale";
  /** Seconds since the snapshot was made. */
  readonly age: () => number;
  readonly scheduleMs: number | undefined;
}

/** What depends on the moment at which an answer from a cache is sent. */
export function snapshotHeaders(cached: CachedResponse | undefined): HeaderList {
  return cached === undefined ? [] : ["Age", String(cached.age()), "X-Cache", cached.state];
}

/**
 * Only the database knows how long rows stay current, so clients revalidate before each use; with the ETag that costs a
 * 304. Rows from a cache are current until its next refresh. `Vary` alone does not keep tenants apart: proxies may
 * treat an absent header and an empty one as equal, or be configured to ignore `Vary`.
 */
function cacheControl({ isPrivate, cached }: Sharing): string {
  const fresh = cached?.scheduleMs === undefined ? "no-cache" : `max-age=${Math.ceil(cached.scheduleMs / 1000)}`;
  return isPrivate ? `private, ${fresh}` : fresh;
}

/** What successful reads have in common, a 304 included. Spec 4.3. */
export function responseHeaders(page: PageOfRows | undefined, next: string, sharing: Sharing): HeaderList {
  const { vary } = sharing;
  const caching = cacheControl(sharing);
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

/** The address of the page that follows; empty when there is none. */
export function nextPage(page: PageOfRows | undefined, url: string): string {
  if (page === undefined) return "";
  const next = page.offset + page.limit;
  return page.limit > 0 && next < page.total ? nextLink(url, next) : "";
}

/** Tells a browser to save a file, and under which name. */
export function attachment(endpoint: Pick<Endpoint, "route">, { name }: FileFormat): HeaderList {
  return ["Content-Disposition", `attachment; filename="${fileNameOf(endpoint)}.${name}"`];
}

/** The last fixed part of the path, in characters that no system minds in a file's name. */
export function fileNameOf({ route }: Pick<Endpoint, "route">): string {
  const last = route?.segments.findLast((segment) => segment.kind === "text");
  const safe = last?.kind === "text" ? last.text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "") : "";
  return safe === "" ? "data" : safe;
}
