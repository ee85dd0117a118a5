import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import type { Authenticated, Authenticator, UserSource } from "./authenticator.ts";
import { type UserAndPassword, userAndPassword } from "./authorization.ts";
import { type FailedAttempts, openFailedAttempts } from "./failed-attempts.ts";
import { keyOf, openFingerprint } from "./fingerprint.ts";
import { type Hashing, openHashing } from "./hashing.ts";
import { identityOf, openCommaWarning } from "./identity.ts";
import { costOf, matchesAtOnce, matchesHash, type PasswordShape, passwordShape } from "./password.ts";
import type { User } from "./policy.ts";
import { authenticatedBytes, openExpiringCache, VERIFIED_BYTES } from "./verified.ts";

/** Users whose highest cost of a password check may be known before the first request. */
export interface CountedUsers extends UserSource {
  /** Rounds of PBKDF2, as `costOf` returns them. */
  readonly maxCost?: () => number;
}

export interface BasicOptions {
  readonly report: Report;
  readonly users: CountedUsers;
  readonly now: () => number;
  /** Shared by all blocks of a service. */
  readonly hashing?: Hashing;
  /** Shared by all blocks of a service. */
  readonly attempts?: FailedAttempts;
  readonly cacheMs?: number;
  readonly maxCacheBytes?: number;
  readonly wrongCacheMs?: number;
}

const unauthorized: Authenticated = { kind: "refused", failure: { kind: "unauthorized", scheme: "basic" } };
/** Stands for the password of an unknown user. */
const unknownUser: PasswordShape = { kind: "malformed", reason: "there is no such user" };

/** About three thousand wrong passwords. */
const WRONG_BYTES = 1024 * 1024;

/** HTTP Basic. Verified passwords are cached, because 600,000 rounds per request would be too slow. */
export function openBasic({
  report,
  users,
  now,
  hashing = openHashing(),
  attempts = openFailedAttempts({ now }),
  cacheMs = 5 * 60_000,
  maxCacheBytes = VERIFIED_BYTES,
  wrongCacheMs = 30_000,
}: BasicOptions): Authenticator {
  const fingerprint = openFingerprint();
  const verified = openExpiringCache({ maxBytes: maxCacheBytes, bytesOf: authenticatedBytes, now });
  const warnOfComma = openCommaWarning(report);
  const wrong = openExpiringCache({ maxBytes: WRONG_BYTES, bytesOf: authenticatedBytes, now });
  /** Running checks. Concurrent requests with the same credentials share one. */
  let checking = new Map<string, Promise<Authenticated>>();
  let version = users.version();
  let maxCostSeen = 0;

  /** Every wrong password must cost the same, for any user name. */
  function costOfWrong(shape: PasswordShape): number {
    maxCostSeen = Math.max(maxCostSeen, costOf(shape));
    return Math.max(users.maxCost?.() ?? maxCostSeen, costOf(shape));
  }

  function forgetWhenUsersChanged(): void {
    if (users.version() === version) return;
    version = users.version();
    verified.clear();
    wrong.clear();
    checking = new Map();
  }

  async function matches(password: string, shape: PasswordShape): Promise<boolean> {
    const cost = costOfWrong(shape);
    const atOnce = matchesAtOnce(password, shape);
    if (atOnce || cost === 0) return atOnce;
    const matched = hashing.run((derive) => matchesHash(password, shape, { derive, cost }));
    if (matched === undefined) throw new RequestFailure({ kind: "overloaded" });
    return await matched;
  }

  async function check({ username, password }: UserAndPassword, key: string): Promise<Authenticated> {
    const versionBefore = version;
    const isStill = (): boolean => users.version() === versionBefore;
    const user = await users.find(username);
    const matched = await matches(password, user === undefined ? unknownUser : passwordShape(user.password));
    if (user === undefined || !matched) {
      if (isStill()) wrong.set(key, unauthorized, now() + wrongCacheMs);
      return unauthorized;
    }
    const identity = identityOf({ type: "basic", username, roles: user.roles });
    warnOfComma(identity);
    const found: Authenticated = { kind: "identity", identity };
    if (isStill()) verified.set(key, found, now() + cacheMs);
    return found;
  }

  function checkOnce(shown: UserAndPassword, key: string): Promise<Authenticated> {
    const mine = checking;
    const underWay = mine.get(key);
    if (underWay !== undefined) return underWay;
    const checked = check(shown, key)
      .catch(refusedBy)
      .finally(() => mine.delete(key));
    mine.set(key, checked);
    return checked;
  }

  async function attempt(shown: UserAndPassword, key: string, address: string): Promise<Authenticated> {
    const answer = wrong.get(key) ?? (await checkOnce(shown, key));
    if (answer === unauthorized) attempts.failed(address);
    return answer;
  }

  return {
    authenticate({ authorization, address }) {
      const shown = userAndPassword(authorization);
      if (shown === undefined) return unauthorized;
      forgetWhenUsersChanged();
      // Neither contains control characters, so different pairs have different keys.
      const key = keyOf(fingerprint(`${shown.username}\0${shown.password}`));
      const known = verified.get(key);
      if (known !== undefined) return known;
      const retryAfterSeconds = attempts.blockedFor(address);
      if (retryAfterSeconds === undefined) return attempt(shown, key, address);
      return { kind: "refused", failure: { kind: "too-many-requests", retryAfterSeconds } };
    },
  };
}

/** If the users cannot be read, their source decides which failure the client gets. */
function refusedBy(error: unknown): Authenticated {
  return {
    kind: "refused",
    failure: error instanceof RequestFailure ? error.failure : { kind: "internal" },
  };
}

/** The users in the configuration. Of two with the same name, the first wins. */
export function inlineUsers(users: readonly User[]): CountedUsers {
  const byName = new Map(users.toReversed().map((user) => [user.username, user]));
  const maxCost = users.reduce((most, { password }) => Math.max(most, costOf(passwordShape(password))), 0);
  return {
    find: (username) => byName.get(username),
    version: () => 0,
    maxCost: () => maxCost,
  };
}
