import type { IncomingMessage } from "node:http";

/** Path and query of a request, not yet decoded. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Removes the origin from a target in absolute form, as proxies send it. */
export function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(ORIGIN, "");
}

export function splitTarget({ url = "/" }: IncomingMessage): Target {
  const target = withoutOrigin(url) || "/";
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
