import type { Authenticated } from "../authenticator.ts";
import { keyOf, openFingerprint } from "../fingerprint.ts";
import { authenticatedBytes, openExpiringCache, VERIFIED_BYTES } from "../verified.ts";

/** A token that was accepted. */
export interface AcceptedToken {
  /** The same object for every call, so that what hangs on its identity is found again. */
  readonly answer: Authenticated;
  readonly until: number;
  readonly isCurrent: () => boolean;
}

/** Tokens that were accepted a short while ago. The tokens themselves are not kept. */
export interface TokenCache {
  keyOf(token: string): string;
  get(key: string): Authenticated | undefined;
  set(key: string, accepted: AcceptedToken): void;
}

const CACHE_MS = 5 * 60 * 1000;
/** `isCurrent` keeps the key of the token in memory. */
const ACCEPTED_BYTES = 256;

export function openTokenCache(now: () => number): TokenCache {
  const cache = openExpiringCache<AcceptedToken>({
    maxBytes: VERIFIED_BYTES,
    bytesOf: ({ answer }) => ACCEPTED_BYTES + authenticatedBytes(answer),
    now,
  });
  const fingerprint = openFingerprint();
  return {
    keyOf: (token) => keyOf(fingerprint(token)),
    get(key) {
      const accepted = cache.get(key);
      if (accepted === undefined || accepted.isCurrent()) return accepted?.answer;
      cache.delete(key);
      return undefined;
    },
    set: (key, accepted) => cache.set(key, accepted, Math.min(accepted.until, now() + CACHE_MS)),
  };
}
