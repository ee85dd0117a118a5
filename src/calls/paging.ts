import type { Endpoint, Operation } from "../endpoint/endpoint.ts";
import type { Window } from "../engines/engine.ts";
import type { Page } from "../params/page.ts";
import { ONE_AND_NEXT } from "./one-row.ts";

export interface Paging {
  /** The page that the template sees. */
  readonly rendered: Page;
  /** The part of its rows that Eider takes. */
  readonly window: Window | undefined;
  /** The total needs a statement of its own, without a page. */
  readonly countsAll: boolean;
}

/** Who pages: the template, Eider or both, if the template uses only one of `params.limit` and `params.offset`. */
export function pagingOf({ operation, ownPaging }: Endpoint, page: Page): Paging {
  const { limit, offset } = page;
  const window = windowOf(operation, page);
  if (operation.returns === "one" || (!ownPaging.limit && !ownPaging.offset)) {
    return { rendered: page, window, countsAll: false };
  }
  if (ownPaging.limit && ownPaging.offset) return { rendered: page, window: undefined, countsAll: true };
  if (ownPaging.offset) {
    return { rendered: page, window: limit === undefined ? undefined : { limit, offset: 0 }, countsAll: true };
  }
  // The template returns the rows before the page as well.
  const rendered = { limit: limit === undefined ? undefined : limit + offset, offset: 0 };
  return { rendered, window, countsAll: true };
}

/** The part of the rows that Eider takes, if the template does not page. One object has no page. */
export function windowOf({ returns }: Operation, page: Page): Window | undefined {
  if (returns === "one") return ONE_AND_NEXT;
  return page.limit !== undefined || page.offset > 0 ? page : undefined;
}
