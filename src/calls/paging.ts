import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Page } from "../params/page.ts";

export interface Paging {
  /** The page that the template sees. */
  readonly rendered: Page;
  /** The part of its rows that Eider takes. */
  readonly window: Page | undefined;
  /** The total needs a statement of its own, without a page. */
  readonly countsAll: boolean;
}

/** Who pages: the template, Eider or both, if the template uses only one of `params.limit` and `params.offset`. */
export function pagingOf({ ownPaging }: Endpoint, page: Page): Paging {
  const { limit, offset } = page;
  const hasPage = limit !== undefined || offset > 0;
  if (!ownPaging.limit && !ownPaging.offset) {
    return { rendered: page, window: hasPage ? page : undefined, countsAll: false };
  }
  if (ownPaging.limit && ownPaging.offset) return { rendered: page, window: undefined, countsAll: true };
  if (ownPaging.offset) {
    return { rendered: page, window: limit === undefined ? undefined : { limit, offset: 0 }, countsAll: true };
  }
  // The template returns the rows before the page as well.
  const rendered = { limit: limit === undefined ? undefined : limit + offset, offset: 0 };
  return { rendered, window: hasPage ? page : undefined, countsAll: true };
}
