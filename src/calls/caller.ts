import { type Identity, splitNames } from "../auth/identity.ts";
import type { Caller } from "../engines/caller.ts";

/** The caller as engines know it. Undefined without authentication. Most engines do not ask. */
export function callerOf(identity: Identity): (() => Caller) | undefined {
  if (identity.size === 0) return undefined;
  const names = (key: string): readonly string[] => splitNames(identity.get(key)?.text ?? "");
  return () => ({
    username: identity.get("username")?.text,
    email: identity.get("email")?.text,
    roles: names("roles"),
    groups: names("groups"),
  });
}
