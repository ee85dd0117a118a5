import type { Authenticator } from "../auth/authenticator.ts";
import type { Authenticators } from "../auth/authenticators.ts";
import { identityOf } from "../auth/identity.ts";
import type { AuthPolicy } from "../auth/policy.ts";
import type { TestRequest } from "../config/test-files.ts";

type User = NonNullable<TestRequest["user"]>;

/** The identities of tests. They pass authentication with a secret that only this run knows. */
export interface TestUsers {
  /** The value of the header `Authorization` for a user. */
  authorizationOf(user: User): string;
  /** The authenticators of a service, which also accept the users. */
  admittedBy(authenticators: Authenticators): Authenticators;
}

const SCHEME = "EiderTest";

export function openTestUsers(): TestUsers {
  const users = new Map<string, User>();

  function admit(policy: AuthPolicy, authenticator: Authenticator): Authenticator {
    return {
      ...authenticator,
      authenticate(credentials) {
        const user = users.get(credentials.authorization ?? "");
        if (user === undefined) return authenticator.authenticate(credentials);
        return { kind: "identity", identity: identityOf({ type: policy.kind, ...user }) };
      },
    };
  }

  return {
    authorizationOf(user) {
      const authorization = `${SCHEME} ${crypto.randomUUID()}`;
      users.set(authorization, user);
      return authorization;
    },
    admittedBy(authenticators) {
      const admitting = new Map<AuthPolicy, Authenticator>();
      return {
        ...authenticators,
        of(policy) {
          const known = admitting.get(policy) ?? admit(policy, authenticators.of(policy));
          admitting.set(policy, known);
          return known;
        },
      };
    },
  };
}
