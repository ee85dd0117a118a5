import { createHmac, randomBytes } from "node:crypto";
import type { Authenticated } from "../authenticator.ts";

/** A token that was accepted. */
export interface Accepted {
  /** The same object for every call, so that what hangs on its identity is found again. */
  readonly answer: Authenticated;
  readonly until: number;
  readonly isCurrent: () => boolean;
}

/** Tokens that were accepted a short while ago. The tokens themselves are not kept. */
export interface Remembered {
  nameOf(token: string): string;
  find(name: string): Authenticated | undefined;
  keep(name: string, accepted: Accepted): void;
}

const KEPT_MS = 5 * 60 * 1000;
const KEPT_TOKENS = 10_000;

export function openRemembered(now: () => number): Remembered {
  // A Map remembers the order of insertion: the first entry is the oldest.
  const kept = new Map<string, Accepted & { readonly since: number }>();
  const secret = randomBytes(32);
  return {
    nameOf: (token) => createHmac("sha256", secret).update(token).digest("base64"),
    find(name) {
      const entry = kept.get(name);
      if (entry === undefined) return undefined;
      const time = now();
      // Before `since` the clock was set back: what held then is not sure to hold now.
      const holds = time >= entry.since && time < entry.since + KEPT_MS && time < entry.until && entry.isCurrent();
      if (holds) return entry.answer;
      kept.delete(name);
      return undefined;
    },
    keep(name, accepted) {
      kept.delete(name);
      kept.set(name, { ...accepted, since: now() });
      if (kept.size <= KEPT_TOKENS) return;
      const [oldest] = kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
    },
  };
}
