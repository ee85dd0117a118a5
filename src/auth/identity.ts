import { textBytes } from "../bounded/own-text.ts";
import type { Report } from "../events.ts";
import type { ParamValue } from "../params/parameter.ts";

/** The identity of a client: the values of `auth.*` that are set. Nothing of it can come from a request's parameters. */
export type Identity = ReadonlyMap<string, ParamValue>;

/** Without authentication all of `auth.*` is unset. */
export const anonymous: Identity = new Map();

/** What an authenticator knows of a caller. */
export interface Claims {
  readonly type: "basic" | "bearer" | "oidc";
  readonly username: string | undefined;
  readonly email?: string | undefined;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

/** What templates see of a caller: what is not known is unset, lists are joined by `joinNames`. */
export function identityOf({ type, username, email, roles = [], groups = [] }: Claims): Identity {
  const values = new Map<string, ParamValue>();
  const set = (name: string, text: string | undefined): void => {
    if (text !== undefined) values.set(name, { text, type: "VARCHAR", value: text });
  };
  set("type", type);
  values.set("authenticated", { text: "true", type: "BOOLEAN", value: true });
  set("username", username);
  set("email", email);
  set("roles", roles.length === 0 ? undefined : joinNames(roles));
  set("groups", groups.length === 0 ? undefined : joinNames(groups));
  return values;
}

/**
 * Names as one string, separated by commas. A comma inside a name is written `%2C`. For every list to have a string of its
 * own, a name that itself holds `%2C` or `%25` gets `%25` for that percent sign; other names stay as they are.
 */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replace(/%(?=2[5c])/gi, "%25").replaceAll(",", COMMA)).join(",");
}

/** The names in such a string; empty ones are left out. */
export function splitNames(joined: string): readonly string[] {
  const names = joined.split(",").filter((name) => name !== "");
  return names.map((name) => name.replace(/%2([5c])/gi, (_, digit) => (digit === "5" ? "%" : ",")));
}

const COMMA = "%2C";

/** Reports the first identity that has a name with a comma: SQL must compare with the name as it is written then. */
export function openCommaWarning(report: Report): (identity: Identity) => void {
  let isReported = false;
  return (identity) => {
    if (isReported) return;
    // A name that holds `%2C` itself is written `%252C`.
    const variable = (["roles", "groups"] as const).find((name) => identity.get(name)?.text.includes(COMMA));
    if (variable === undefined) return;
    isReported = true;
    report({ kind: "comma-in-name", variable });
  };
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

/** What an identity takes in memory at most, with its key. */
export function identityBytes(identity: Identity): number {
  let bytes = 512;
  for (const { text } of identity.values()) bytes += 128 + 2 * textBytes(text);
  return bytes;
}

const keys = new WeakMap<Identity, string>();
