import type { Authenticated } from "../authenticator.ts";
import { authenticatedBytes, keyOf, openFingerprint, openMemory, VERIFIED_BYTES } from "../verified.ts";

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
/** What tells whether a token is still current holds on to its key. */
const ACCEPTED_BYTES = 256;

export function openRemembered(now: () => number): Remembered {
  const kept = openMemory<Accepted>({
    maxBytes: VERIFIED_BYTES,
    bytesOf: ({ answer }) => ACCEPTED_BYTES + authenticatedBytes(answer),
    now,
  });
  const fingerprint = openFingerprint();
  return {
    nameOf: (token) => keyOf(fingerprint(token)),
    find(name) {
      const accepted = kept.get(name);
      if (accepted === undefined || accepted.isCurrent()) return accepted?.answer;
      kept.delete(name);
      return undefined;
    },
    keep: (name, accepted) => kept.set(name, accepted, Math.min(accepted.until, now() + KEPT_MS)),
  };
}
