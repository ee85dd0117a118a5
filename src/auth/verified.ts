import { openLru } from "../bounded/lru.ts";
import type { Authenticated } from "./authenticator.ts";
import { identityBytes } from "./identity.ts";

/** What was found out about a credential, for a while. */
export interface ExpiringCache<T> {
  get(key: string): T | undefined;
  /** Until this time of the clock. */
  set(key: string, value: T, until: number): void;
  delete(key: string): void;
  clear(): void;
}

export interface ExpiringCacheOptions<T> {
  readonly maxBytes: number;
  readonly bytesOf: (value: T) => number;
  readonly now: () => number;
}

/** Times, and the object that holds them. */
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
      // A clock that was set back must not make it live longer.
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

/** Some ten thousand users with a few roles each; one with a token of 16 KiB takes as much as fifty of them. */
export const VERIFIED_BYTES = 16 * 1024 * 1024;

export function authenticatedBytes(found: Authenticated): number {
  return found.kind === "identity" ? identityBytes(found.identity) : 0;
}
