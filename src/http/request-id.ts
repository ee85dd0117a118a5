import { randomUUID } from "node:crypto";

const SANE = /^[\w.:@/+=-]{1,128}$/;

/** The ID that the client sent, if it is valid, otherwise a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && SANE.test(header) ? header : randomUUID();
}
