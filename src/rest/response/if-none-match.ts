import type { IncomingMessage } from "node:http";

/** What a POST reads has no address under which a client could keep it. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

const TAG = /"([^"]*)"/g;

/** Whether a client has these bytes already. Weak tags count like strong ones here (RFC 9110, 13.1.2). */
export function hasCurrent(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  for (const [, known] of ifNoneMatch.matchAll(TAG)) if (known === tag) return true;
  return false;
}
