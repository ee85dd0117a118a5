import { randomUUID } from "node:crypto";

const SANE = /^[\w.:@/+=-]{1,128}$/;

/** The client's own id for its request when it is sane, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && SANE.test(header) ? header : randomUUID();
}
