import { createHmac, randomBytes } from "node:crypto";

/** Secrets are stored only as fingerprints, which no other process can compute. */
export type Fingerprint = (text: string) => Buffer;

export function openFingerprint(): Fingerprint {
  const key = randomBytes(32);
  return (text) => createHmac("sha256", key).update(text).digest();
}

/** The fingerprint as the key of a map. */
export function keyOf(fingerprint: Buffer): string {
  return fingerprint.toString("latin1");
}
