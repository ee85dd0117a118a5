import type { PageOfRows } from "../../calls/run-endpoint.ts";
import { nextLink } from "../next-link.ts";

/** Names and values in turn: the form in which Node writes a head fastest. */
export type HeaderList = readonly string[];

/** What an answer says of its use by others, whatever its rows are. */
export interface Sharing {
  /** What answers differ by. */
  readonly vary: string;
  /** Whether it is meant for its caller alone. */
  readonly isPrivate: boolean;
  /** The snapshot that the rows come from, where there is one. */
  readonly cached: CachedAnswer | undefined;
}

/** An answer from a cache. */
export interface CachedAnswer {
  /** Names the snapshot and the request; an ETag without its quotes. Undefined where there is none to name. */
  readonly tag: string | undefined;
  readonly state: "hit" | "miss" | "stale";
  /** Seconds since the snapshot was made. */
  readonly age: () => number;
  readonly scheduleMs: number | undefined;
}

/** What depends on the moment at which an answer from a cache is sent. */
export function snapshotHeaders(cached: CachedAnswer | undefined): HeaderList {
  return cached === undefined ? [] : ["Age", String(cached.age()), "X-Cache", cached.state];
}

/**
 * Nobody but the database knows how long rows stay as they are, so whoever keeps an answer asks before each use; with
 * its ETag that costs a 304. A shared cache does the same, so it never gives one user what another was sent. Rows from a
 * cache are good until its next refresh.
 */
function cacheControl({ isPrivate, cached }: Sharing): string {
  if (cached?.scheduleMs === undefined) return "no-cache";
  const seconds = `max-age=${Math.ceil(cached.scheduleMs / 1000)}`;
  return isPrivate ? `private, ${seconds}` : seconds;
}

/** What successful reads have in common, a 304 included. Spec 4.3. */
export function answerHeaders(page: PageOfRows | undefined, next: string, sharing: Sharing): HeaderList {
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
