import { type PasswordShape, passwordShape } from "./password.ts";
import type { User } from "./policy.ts";

/** What is wrong with the passwords of a secret, in numbers: no name and no password is shown. Spec 5.1. */
export function passwordWarnings(users: readonly User[]): readonly string[] {
  const kinds = users.map(({ password }) => passwordShape(password).kind);
  return (["plain", "md5", "malformed"] as const).flatMap((kind) => {
    const count = kinds.filter((each) => each === kind).length;
    return count === 0 ? [] : [`${count} of ${users.length} passwords: ${adviceOn(kind)}`];
  });
}

function adviceOn(kind: Exclude<PasswordShape["kind"], "pbkdf2">): string {
  switch (kind) {
    case "plain":
      return "a plain password is for local demos only; make a hash with `eider hash-password`";
    case "md5":
      return "an MD5 hash is deprecated and quickly guessed; make a better one with `eider hash-password`";
    case "malformed":
      return "a hash that cannot be read matches nothing; make one with `eider hash-password`";
  }
}
