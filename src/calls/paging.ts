import type { Endpoint, Operation } from "../endpoint/endpoint.ts";
import type { Window } from "../engines/engine.ts";
import type { Page } from "../params/page.ts";
import { TWO_ROWS } from "./one-row.ts";

export interface Paging {
  /** The page that the template sees. */
  readonly templatePage: Page;
  /** The part of its rows that Eider takes. */
  readonly window: Window | undefined;
  /** Set if the total needs statements of its own. Without a page, they set neither `params.limit` nor `params.offset`. */
  readonly separateTotal: { readonly page: Page | undefined } | undefined;
}

/** For the total of a template whose inverted sections have a limit of their own. */
const ALL_ROWS: Page = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/** Decides who pages: the template, Eider, or both if the template uses only one of `params.limit` and `params.offset`. */
export function pagingOf({ operation, ownPaging }: Endpoint, page: Page): Paging {
  const { limit, offset } = page;
  const window = windowOf(operation, page);
  if (operation.returns === "one" || (!ownPaging.limit && !ownPaging.offset)) {
    return { templatePage: page, window, separateTotal: undefined };
  }
  const separateTotal = { page: ownPaging.isInverted ? ALL_ROWS : undefined };
  if (ownPaging.limit && ownPaging.offset) return { templatePage: page, window: undefined, separateTotal };
  if (ownPaging.offset) {
    return { templatePage: page, window: limit === undefined ? undefined : { limit, offset: 0 }, separateTotal };
  }
  // The template returns the rows before the page as well.
  const templatePage = { limit: limit === undefined ? undefined : limit + offset, offset: 0 };
  return { templatePage, window, separateTotal };
}

/** The part of the rows that Eider takes, if the template does not page. With `returns: one`, there is no page. */
export function windowOf({ returns }: Operation, page: Page): Window | undefined {
  if (returns === "one") return TWO_ROWS;
  return page.limit !== undefined || page.offset > 0 ? page : undefined;
}
