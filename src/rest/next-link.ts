import { decodeQueryPart } from "./read-params/parse-query.ts";
import { withoutOrigin } from "./read-params/target.ts";

/** Characters that RFC 3986 does not allow in a path or a query, and a percent sign that starts no escape. */
const ILLEGAL = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]|%(?![0-9A-Fa-f]{2})/gu;

/**
 * Path and query of a request with another `offset`, otherwise as sent. Replaces the first `offset`, the one that counts,
 * or appends one.
 */
export function nextLink(rawUrl: string, offset: number): string {
  const url = withoutOrigin(rawUrl);
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? "" : url.slice(mark + 1);
  return `${path || "/"}?${withOffset(query, offset)}`.replace(ILLEGAL, encodeIllegal);
}

function withOffset(query: string, offset: number): string {
  const pairs = query.split("&");
  const index = pairs.findIndex(isOffset);
  if (index !== -1) return pairs.with(index, `offset=${offset}`).join("&");
  const before = query === "" || query.endsWith("&") ? query : `${query}&`;
  return `${before}offset=${offset}`;
}

function isOffset(pair: string): boolean {
  const equals = pair.indexOf("=");
  return decodeQueryPart(equals === -1 ? pair : pair.slice(0, equals)) === "offset";
}

/** Node represents each byte beyond ASCII as one character. */
function encodeIllegal(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0xff ? encodeURIComponent(character) : `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
}
