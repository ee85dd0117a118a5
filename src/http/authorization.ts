import type { IncomingMessage } from "node:http";

/** Of several headers, Node keeps the first, but a proxy may use the last. So several are rejected. */
export function authorizationOf({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  if (authorization === undefined) return undefined;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 13 && rawHeaders[index]?.toLowerCase() === "authorization") count++;
  }
  return count === 1 ? authorization : undefined;
}
