import type { ParamValue } from "../params/parameter.ts";

/** Who calls: the values of `auth.*` that are set. Nothing of it can come from a request's parameters. Spec 2.10. */
export type Identity = ReadonlyMap<string, ParamValue>;

/** Without authentication all of `auth.*` is unset; decisions 9. */
export const anonymous: Identity = new Map();

/** The same text for two callers only when templates see the same of them. */
export function identityKey(identity: Identity): string {
  return identity.size === 0 ? "" : JSON.stringify([...identity].map(([name, { text }]) => [name, text]));
}
