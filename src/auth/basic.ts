import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { AuthenticationResult, Authenticator, UserEntry, UserSource } from "./authenticator.ts";
import { type UserAndPassword, userAndPassword } from "./authorization.ts";
import { keyOf, openFingerprint } from "./fingerprint.ts";
import { type Hashing, openHashing } from "./hashing.ts";
import { identityOf, openCommaWarning } from "./identity.ts";
import { costOf, matchesHash, matchesWithoutPbkdf2, parseStoredPassword, type StoredPassword } from "./password.ts";
import type { User } from "./policy.ts";
import { bytesOfResult, openExpiringCache, VERIFIED_BYTES } from "./verified.ts";

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
  readonly rejectedCacheMs?: number;
}

const unauthorized: AuthenticationResult = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
/** Checked when the user is unknown, so that the answer takes as long. */
const unknownUserPassword: StoredPassword = { kind: "malformed", reason: "there is no such user" };

/** About 3,700 rejected logins. */
const REJECTED_CACHE_BYTES = 1024 * 1024;

/**
 * HTTP Basic. Each request looks up the user, so that changes and deletions take effect at once. Only the check of a
 * password is cached, because 600,000 rounds of PBKDF2 per request would be too slow.
 */
export function openBasic({
  report,
  users,
  now,
  hashing = openHashing(),
  cacheMs = 5 * 60_000,
  maxCacheBytes = VERIFIED_BYTES,
  rejectedCacheMs = 30_000,
}: BasicOptions): Authenticator {
  const fingerprint = openFingerprint();
  const verified = openExpiringCache({ maxBytes: maxCacheBytes, bytesOf: bytesOfResult, now });
  const warnAboutComma = openCommaWarning(report);
  const rejected = openExpiringCache({ maxBytes: REJECTED_CACHE_BYTES, bytesOf: bytesOfResult, now });
  /** Running checks. Concurrent requests with the same credentials share one. */
  const checking = new Map<string, Promise<AuthenticationResult>>();
  let maxCostSeen = 0;

  /** Every wrong password must cost the same, for any user name. */
  function costOfWrongPassword(stored: StoredPassword): number {
    maxCostSeen = Math.max(maxCostSeen, costOf(stored));
    return Math.max(users.maxCost?.() ?? maxCostSeen, costOf(stored));
  }

  async function matches(password: string, stored: StoredPassword): Promise<boolean> {
    const cost = costOfWrongPassword(stored);
    const matchesDirectly = matchesWithoutPbkdf2(password, stored);
    if (matchesDirectly || cost === 0) return matchesDirectly;
    const result = hashing.run((derive) => matchesHash(password, stored, { derive, cost }));
    if (result === undefined) throw new RequestFailure({ kind: "overloaded" });
    return await result;
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
      rejected.set(key, unauthorized, now() + rejectedCacheMs);
      return unauthorized;
    }
    const identity = identityOf({ type: "basic", username, roles: user.roles });
    warnAboutComma(identity);
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
    const known = verified.get(key) ?? rejected.get(key) ?? checking.get(key);
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
