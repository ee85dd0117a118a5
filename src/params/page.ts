import { parseInt64 } from "./validators/int.ts";

/** The pagination settings of an endpoint. */
export interface PageRules {
  readonly paginated: boolean;
  readonly defaultPageSize: number;
  readonly maxPageSize: number;
}

/** The requested page. Without a limit, all rows. */
export interface Page {
  readonly limit: number | undefined;
  readonly offset: number;
}

/** The two parameters of every read. They need no declaration. */
export const pageFields = ["limit", "offset"] as const;
export type PageField = (typeof pageFields)[number];

export function isPageField(name: string): name is PageField {
  return name === "limit" || name === "offset";
}

const DIGITS = /^[0-9]+$/;

/** The error message for a `limit` or `offset`, which must be plain digits. */
export function pageProblem(field: PageField, text: string, rules: PageRules): string | undefined {
  const value = parseInt64(text);
  if (value === undefined) return "Invalid integer value";
  if (value < 0n) return "Integer is less than the minimum allowed value";
  if (!DIGITS.test(text)) return "Invalid integer value";
  // Above 2^53, an offset would lose digits.
  const max = field === "limit" ? rules.maxPageSize : Number.MAX_SAFE_INTEGER;
  return value > max ? "Integer is greater than the maximum allowed value" : undefined;
}

/** The page for valid strings. An absent limit gets the default. */
export function readPage(limit: string | undefined, offset: string | undefined, rules: PageRules): Page {
  const size = rules.paginated ? rules.defaultPageSize : undefined;
  return { limit: limit === undefined ? size : Number(limit), offset: Number(offset ?? 0) };
}
