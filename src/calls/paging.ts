import type { Endpoint, Operation } from "../endpoint/endpoint.ts";
import type { Window } from "../engines/engine.ts";
import type { Page } from "../params/page.ts";
import { ONE_AND_NEXT } from "./one-row.ts";

export interface Paging {
  /** The page that the template sees. */
  readonly rendered: Page;
  /** The part of its rows that Eider takes. */
  readonly window: Window | undefined;
  /** The total needs statements of its own, for this page: undefined sets neither `params.limit` nor `params.offset`. */
  readonly counted: { readonly page: Page | undefined } | undefined;
}

/** For the total of a template whose inverted sections have a limit of their own. */
const ALL_ROWS: Page = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/** Who pages: the template, Eider or both, if the template uses only one of `params.limit` and `params.offset`. */
export function pagingOf({ operation, ownPaging }: Endpoint, page: Page): Paging {
  const { limit, offset } = page;
  const window = windowOf(operation, page);
  if (operation.returns === "one" || (!ownPaging.limit && !ownPaging.offset)) {
    return { rendered: page, window, counted: undefined };
  }
  const counted = { page: ownPaging.isInverted ? ALL_ROWS : undefined };
  if (ownPaging.limit && ownPaging.offset) return { rendered: page, window: undefined, counted };
  if (ownPaging.offset) {
    return { rendered: page, window: limit === undefined ? undefined : { limit, offset: 0 }, counted };
  }
  // The template returns the rows before the page as well.
  const rendered = { limit: limit === undefined ? undefined : limit + offset, offset: 0 };
  return { rendered, window, counted };
}

/** The part of the rows that Eider takes, if the template does not page. One object has no page. */
export function windowOf({ returns }: Operation, page: Page): Window | undefined {
  if (returns === "one") return ONE_AND_NEXT;
  return page.limit !== undefined || page.offset > 0 ? page : undefined;
}
