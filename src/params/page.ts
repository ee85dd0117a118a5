import { parseInt64 } from "./validators/int.ts";

/** How an endpoint cuts its rows into pages. */
export interface PageRules {
  readonly paginated: boolean;
  readonly defaultPageSize: number;
  readonly maxPageSize: number;
}

/** The requested page; without a limit, all rows. */
export interface Page {
  readonly limit: number | undefined;
  readonly offset: number;
}

/** The two parameters that every read takes, declared or not. */
export const pageFields = ["limit", "offset"] as const;
export type PageField = (typeof pageFields)[number];

export function isPageField(name: string): name is PageField {
  return name === "limit" || name === "offset";
}

const DIGITS = /^[0-9]+$/;

/** What is wrong with the text of a `limit` or `offset`, if anything: plain digits only. */
export function pageProblem(field: PageField, text: string, rules: PageRules): string | undefined {
  const value = parseInt64(text);
  if (value === undefined) return "Invalid integer value";
  if (value < 0n) return "Integer is less than the minimum allowed value";
  if (!DIGITS.test(text)) return "Invalid integer value";
  // Beyond 2^53 an offset would lose digits.
  const max = field === "limit" ? rules.maxPageSize : Number.MAX_SAFE_INTEGER;
  return value > max ? "Integer is greater than the maximum allowed value" : undefined;
}

/** The page that texts without a problem stand for; an absent one is left to the rules. */
export function readPage(limit: string | undefined, offset: string | undefined, rules: PageRules): Page {
  const size = rules.paginated ? rules.defaultPageSize : undefined;
  return { limit: limit === undefined ? size : Number(limit), offset: Number(offset ?? 0) };
}
