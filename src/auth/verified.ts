import { openLru } from "../bounded/lru.ts";
import type { AuthenticationResult } from "./authenticator.ts";
import { identityBytes } from "./identity.ts";

/** Caches the results of credential checks. */
export interface ExpiringCache<T> {
  get(key: string): T | undefined;
  /** `until` is in milliseconds since 1970. */
  set(key: string, value: T, until: number): void;
  delete(key: string): void;
  clear(): void;
}

export interface ExpiringCacheOptions<T> {
  readonly maxBytes: number;
  readonly bytesOf: (value: T) => number;
  readonly now: () => number;
}

/** Overhead of an entry, besides its value. */
const ENTRY_BYTES = 72;

export function openExpiringCache<T>({ maxBytes, bytesOf, now }: ExpiringCacheOptions<T>): ExpiringCache<T> {
  const entries = openLru<{ readonly value: T; readonly since: number; readonly until: number }>({
    maxBytes,
    maxEntryBytes: maxBytes,
    bytesOf: ({ value }) => ENTRY_BYTES + bytesOf(value),
  });
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const time = now();
      // If the clock was set back, the entry must not live longer.
      if (time >= entry.since && time < entry.until) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, until) {
      entries.set(key, { value, since: now(), until });
    },
    delete: entries.delete,
    clear: entries.clear,
  };
}

/** About ten thousand users with a few roles each. */
export const VERIFIED_BYTES = 16 * 1024 * 1024;

export function bytesOfResult(found: AuthenticationResult): number {
  return found.kind === "identity" ? identityBytes(found.identity) : 0;
}
