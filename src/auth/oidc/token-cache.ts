import type { AuthenticationResult } from "../authenticator.ts";
import { keyOf, openFingerprint } from "../fingerprint.ts";
import { bytesOfResult, openExpiringCache, VERIFIED_BYTES } from "../verified.ts";

/** The result for an accepted token. */
export interface AcceptedToken {
  /** The same object for every request, because other caches use its identity as a key. */
  readonly result: AuthenticationResult;
  readonly until: number;
  readonly isCurrent: () => boolean;
}

/** Recently accepted tokens, by fingerprint. The tokens themselves are not stored. */
export interface TokenCache {
  keyOf(token: string): string;
  get(key: string): AuthenticationResult | undefined;
  set(key: string, accepted: AcceptedToken): void;
}

const CACHE_MS = 5 * 60 * 1000;
/** For `isCurrent`, which keeps the public key in memory. */
const ACCEPTED_BYTES = 256;

export function openTokenCache(now: () => number): TokenCache {
  const cache = openExpiringCache<AcceptedToken>({
    maxBytes: VERIFIED_BYTES,
    bytesOf: ({ result }) => ACCEPTED_BYTES + bytesOfResult(result),
    now,
  });
  const fingerprint = openFingerprint();
  return {
    keyOf: (token) => keyOf(fingerprint(token)),
    get(key) {
      const accepted = cache.get(key);
      if (accepted === undefined || accepted.isCurrent()) return accepted?.result;
      cache.delete(key);
      return undefined;
    },
    set: (key, accepted) => cache.set(key, accepted, Math.min(accepted.until, now() + CACHE_MS)),
  };
}
