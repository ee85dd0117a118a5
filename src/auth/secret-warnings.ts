import { parseStoredPassword, passwordAdvice } from "./password.ts";
import type { User } from "./policy.ts";

/** Warnings with the number of insecure passwords in a secret. They do not name users. */
export function passwordWarnings(users: readonly User[]): readonly string[] {
  const kinds = users.map(({ password }) => parseStoredPassword(password).kind);
  const malformed = "a hash that cannot be read matches nothing; make one with `eider hash-password`";
  return Object.entries({ ...passwordAdvice, malformed }).flatMap(([kind, advice]) => {
    const count = kinds.filter((each) => each === kind).length;
    return count === 0 ? [] : [`${count} of ${users.length} passwords: ${advice}`];
  });
}
