import type { IncomingMessage } from "node:http";

/** Only these responses have an ETag: clients cannot cache the response to a POST, even if it only reads. */
export function isGetOrHead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

const TAG = /"([^"]*)"/g;

/** Whether the client already has the bytes with this tag. Compares weakly (RFC 9110, 13.1.2). */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  for (const [, known] of ifNoneMatch.matchAll(TAG)) if (known === tag) return true;
  return false;
}
