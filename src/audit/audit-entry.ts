import type { Identity } from "../auth/identity.ts";
import type { RawParams } from "../params/parameter.ts";

/** Who called, as the audit tells it. */
export function callerOf(identity: Identity | undefined) {
  const type = identity?.get("type")?.text;
  if (type === undefined) return undefined;
  return { type, username: identity?.get("username")?.text, roles: identity?.get("roles")?.text };
}

/** What was sent, wherever it stood. */
export function* parametersOf(raw: RawParams | undefined): Generator<readonly [string, string]> {
  if (raw === undefined) return;
  for (const values of [raw.path, raw.query, raw.header, raw.body]) {
    for (const [name, { text }] of values) yield [name, text];
  }
}
