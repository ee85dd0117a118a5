import type { PageOfRows } from "../../calls/run-endpoint.ts";
import { nextLink } from "../next-link.ts";

/** Names and values in turn: the form in which Node writes a head fastest. */
export type HeaderList = readonly string[];

/**
 * Nobody but the database knows how long rows stay as they are, so whoever keeps an answer asks before each use; with
 * its ETag that costs a 304. A shared cache does the same, so it never gives one user what another was sent.
 */
const CACHE_CONTROL = "no-cache";

/** What successful reads have in common, a 304 included. Spec 4.3. */
export function answerHeaders(page: PageOfRows | undefined, next: string, vary: string): HeaderList {
  if (page === undefined) return ["Vary", vary, "Cache-Control", CACHE_CONTROL];
  const { total, offset, limit } = page;
  return [
    "Vary",
    vary,
    "Cache-Control",
    CACHE_CONTROL,
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
