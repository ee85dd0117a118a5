import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";

/** The identity of a call, as in the audit. */
export function callerOf(identity: Identity | undefined) {
  const type = identity?.get("type")?.text;
  if (type === undefined) return undefined;
  return { type, username: identity?.get("username")?.text, roles: identity?.get("roles")?.text };
}

/** All parameters of a request. */
export function* parametersOf(raw: RawParams | undefined): Generator<readonly [string, string]> {
  if (raw === undefined) return;
  for (const values of [raw.path, raw.query, raw.header, raw.body]) {
    for (const [name, { text }] of values) yield [name, text];
  }
}
