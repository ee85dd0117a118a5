import { textBytes } from "../bounded/own-text.ts";
import type { Report } from "../events.ts";
import type { ParamValue } from "../params/parameter.ts";

/** The identity of a client: the values of `auth.*` that are set. None of them come from request parameters. */
export type Identity = ReadonlyMap<string, ParamValue>;

/** Without authentication, all of `auth.*` is unset. */
export const anonymous: Identity = new Map();

/** The data that an authenticator has about a client. */
export interface Claims {
  readonly type: "basic" | "bearer" | "oidc";
  readonly username: string | undefined;
  readonly email?: string | undefined;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

/** The values of `auth.*` for templates. Unknown ones are unset, and lists are joined by `joinNames`. */
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
 * Names as one string, separated by commas. A comma inside a name becomes `%2C`. To keep this unambiguous, `%2C` and `%25`
 * inside a name become `%252C` and `%2525`. Other names stay unchanged.
 */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replace(/%(?=2[5c])/gi, "%25").replaceAll(",", COMMA)).join(",");
}

/** The reverse of `joinNames`. Empty names are omitted. */
export function splitNames(joined: string): readonly string[] {
  const names = joined.split(",").filter((name) => name !== "");
  return names.map((name) => name.replace(/%2([5c])/gi, (_, digit) => (digit === "5" ? "%" : ",")));
}

const COMMA = "%2C";

/** Reports the first identity that has a name with a comma, because SQL must compare with the escaped name. */
export function openCommaWarning(report: Report): (identity: Identity) => void {
  let isReported = false;
  return (identity) => {
    if (isReported) return;
    // A name that contains `%2C` itself becomes `%252C`.
    const variable = (["roles", "groups"] as const).find((name) => identity.get(name)?.text.includes(COMMA));
    if (variable === undefined) return;
    isReported = true;
    report({ kind: "comma-in-name", variable });
  };
}

/** Two clients have the same key only if templates see the same values. */
export function identityKey(identity: Identity): string {
  if (identity.size === 0) return "";
  const known = keys.get(identity);
  if (known !== undefined) return known;
  const key = JSON.stringify([...identity].map(([name, { text }]) => [name, text]));
  keys.set(identity, key);
  return key;
}

/** An upper bound for the memory of an identity and its key. */
export function identityBytes(identity: Identity): number {
  let bytes = 512;
  for (const { text } of identity.values()) bytes += 128 + 2 * textBytes(text);
  return bytes;
}

const keys = new WeakMap<Identity, string>();
