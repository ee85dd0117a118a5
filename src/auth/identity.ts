import type { ParamValue } from "../params/parameter.ts";

/** Who calls: the values of `auth.*` that are set. Nothing of it can come from a request's parameters. Spec 2.10. */
export type Identity = ReadonlyMap<string, ParamValue>;

/** Without authentication all of `auth.*` is unset; decisions 9. */
export const anonymous: Identity = new Map();

/** What an authenticator knows of a caller. */
export interface Claims {
  readonly type: "basic" | "bearer" | "oidc";
  readonly username: string | undefined;
  readonly email?: string | undefined;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

/** What templates see of a caller: what is not known is unset, lists are joined by commas. Spec 2.10. */
export function identityOf({ type, username, email, roles = [], groups = [] }: Claims): Identity {
  const values = new Map<string, ParamValue>();
  const set = (name: string, text: string | undefined): void => {
    if (text !== undefined) values.set(name, { text, type: "VARCHAR", value: text });
  };
  set("type", type);
  values.set("authenticated", { text: "true", type: "BOOLEAN", value: true });
  set("username", username);
  set("email", email);
  set("roles", roles.length === 0 ? undefined : roles.join(","));
  set("groups", groups.length === 0 ? undefined : groups.join(","));
  return values;
}

/** The same text for two callers only when templates see the same of them. */
export function identityKey(identity: Identity): string {
  if (identity.size === 0) return "";
  const known = keys.get(identity);
  if (known !== undefined) return known;
  const key = JSON.stringify([...identity].map(([name, { text }]) => [name, text]));
  keys.set(identity, key);
  return key;
}

const keys = new WeakMap<Identity, string>();
