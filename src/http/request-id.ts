import { randomUUID } from "node:crypto";

const VALID = /^[\w.:@/+=-]{1,128}$/;

/** The ID that the client sent, if it is valid, otherwise a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && VALID.test(header) ? header : randomUUID();
}
