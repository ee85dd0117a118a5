import { createHmac, randomBytes } from "node:crypto";

/** Secrets are only kept as fingerprints, which nobody outside of this process can make. */
export type Fingerprint = (text: string) => Buffer;

export function openFingerprint(): Fingerprint {
  const key = randomBytes(32);
  return (text) => createHmac("sha256", key).update(text).digest();
}

/** The fingerprint as the key of a map. */
export function keyOf(fingerprint: Buffer): string {
  return fingerprint.toString("latin1");
}

/** What was found out about a credential, for a while. */
export interface Memory<T> {
  get(key: string): T | undefined;
  /** Until this time of the clock. */
  set(key: string, value: T, until: number): void;
  clear(): void;
}

export interface MemoryOptions {
  readonly size: number;
  readonly now: () => number;
}

export function openMemory<T>({ size, now }: MemoryOptions): Memory<T> {
  // A Map remembers the order of insertion: the first entry is the oldest.
  const entries = new Map<string, { readonly value: T; readonly since: number; readonly until: number }>();
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
      entries.delete(key);
      entries.set(key, { value, since: now(), until });
      if (entries.size <= size) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
    clear: () => entries.clear(),
  };
}
