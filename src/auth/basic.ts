import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { AuthenticationResult, Authenticator, UserEntry, UserSource } from "./authenticator.ts";
import { type UserAndPassword, userAndPassword } from "./authorization.ts";
import { keyOf, openFingerprint } from "./fingerprint.ts";
import { type Hashing, openHashing } from "./hashing.ts";
import { identityOf, openCommaWarning } from "./identity.ts";
import { costOf, matchesHash, matchesWithoutPbkdf2, parseStoredPassword, type StoredPassword } from "./password.ts";
import type { User } from "./policy.ts";
import { authenticatedBytes, openExpiringCache, VERIFIED_BYTES } from "./verified.ts";

/** A source of users that may know the highest cost of a password check before the first request. */
export interface UsersWithCost extends UserSource {
  /** In PBKDF2 rounds, like `costOf`. */
  readonly maxCost?: () => number;
}

export interface BasicOptions {
  readonly report: Report;
  readonly users: UsersWithCost;
  readonly now: () => number;
  /** Shared by all `auth` blocks of the service. */
  readonly hashing?: Hashing;
  readonly cacheMs?: number;
  readonly maxCacheBytes?: number;
  readonly wrongCacheMs?: number;
}

const unauthorized: AuthenticationResult = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
/** Stands in for the password of an unknown user. */
const unknownUserPassword: StoredPassword = { kind: "malformed", reason: "there is no such user" };

/** About 3,700 rejected logins. */
const REJECTED_CACHE_BYTES = 1024 * 1024;

/**
 * HTTP Basic. Each request looks up the user, so that changes to a user, or its deletion, take effect at once. Only the check of a
 * password against a stored one is cached, because 600,000 rounds per request would be too slow.
 */
export function openBasic({
  report,
  users,
  now,
  hashing = openHashing(),
  cacheMs = 5 * 60_000,
  maxCacheBytes = VERIFIED_BYTES,
  wrongCacheMs = 30_000,
}: BasicOptions): Authenticator {
  const fingerprint = openFingerprint();
  const verified = openExpiringCache({ maxBytes: maxCacheBytes, bytesOf: authenticatedBytes, now });
  const warnAboutCommaInName = openCommaWarning(report);
  const wrong = openExpiringCache({ maxBytes: REJECTED_CACHE_BYTES, bytesOf: authenticatedBytes, now });
  /** Running checks. Concurrent requests with the same credentials share one. */
  const checking = new Map<string, Promise<AuthenticationResult>>();
  let maxCostSeen = 0;

  /** Every wrong password must cost the same, for any user name. */
  function costOfWrong(shape: StoredPassword): number {
    maxCostSeen = Math.max(maxCostSeen, costOf(shape));
    return Math.max(users.maxCost?.() ?? maxCostSeen, costOf(shape));
  }

  async function matches(password: string, shape: StoredPassword): Promise<boolean> {
    const cost = costOfWrong(shape);
    const matchesDirectly = matchesWithoutPbkdf2(password, shape);
    if (matchesDirectly || cost === 0) return matchesDirectly;
    const matched = hashing.run((derive) => matchesHash(password, shape, { derive, cost }));
    if (matched === undefined) throw new RequestFailure({ kind: "overloaded" });
    return await matched;
  }

  async function check(
    { username, password }: UserAndPassword,
    user: UserEntry | undefined,
    key: string,
  ): Promise<AuthenticationResult> {
    const matched = await matches(
      password,
      user === undefined ? unknownUserPassword : parseStoredPassword(user.password),
    );
    if (user === undefined || !matched) {
      wrong.set(key, unauthorized, now() + wrongCacheMs);
      return unauthorized;
    }
    const identity = identityOf({ type: "basic", username, roles: user.roles });
    warnAboutCommaInName(identity);
    const found: AuthenticationResult = { kind: "identity", identity };
    verified.set(key, found, now() + cacheMs);
    return found;
  }

  function checkCached(
    credentials: UserAndPassword,
    user: UserEntry | undefined,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    // Everything that the result depends on.
    const key = keyOf(fingerprint(JSON.stringify([credentials.username, credentials.password, user])));
    const known = verified.get(key) ?? wrong.get(key) ?? checking.get(key);
    if (known !== undefined) return known;
    const checked = check(credentials, user, key)
      .catch(refusalFor)
      .finally(() => checking.delete(key));
    checking.set(key, checked);
    return checked;
  }

  return {
    authenticate({ authorization }) {
      const credentials = userAndPassword(authorization);
      if (credentials === undefined) return unauthorized;
      try {
        const user = users.find(credentials.username);
        if (!(user instanceof Promise)) return checkCached(credentials, user);
        return user.then((found) => checkCached(credentials, found)).catch(refusalFor);
      } catch (error) {
        return refusalFor(error);
      }
    },
  };
}

/** The result when a check throws: a RequestFailure is passed on, anything else is an internal failure. */
function refusalFor(error: unknown): AuthenticationResult {
  return {
    kind: "refused",
    failure: error instanceof RequestFailure ? error.failure : { kind: "internal" },
  };
}

/** The users in the configuration. Of two with the same name, the first wins. */
export function inlineUsers(users: readonly User[]): UsersWithCost {
  const byName = new Map(users.toReversed().map((user) => [user.username, user]));
  const maxCost = users.reduce((most, { password }) => Math.max(most, costOf(parseStoredPassword(password))), 0);
  return {
    find: (username) => byName.get(username),
    maxCost: () => maxCost,
  };
}
