import { createHash, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { decodeBase64 } from "./base64.ts";

/** Advice for passwords that are not securely hashed. */
export const passwordAdvice = {
  plain: "a plain password is for local demos only; make a hash with `eider hash-password`",
  md5: "an MD5 hash is deprecated and quickly guessed; make a better one with `eider hash-password`",
} as const;

/** A stored password, parsed. Its format determines its kind. */
export type StoredPassword =
  | Pbkdf2Hash
  | { readonly kind: "md5"; readonly hash: Buffer }
  | { readonly kind: "plain"; readonly text: string }
  /** Matches no password. `reason` quotes nothing from it. */
  | { readonly kind: "malformed"; readonly reason: string };

export interface Pbkdf2Hash {
  readonly kind: "pbkdf2";
  readonly iterations: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const PBKDF2 = "$pbkdf2-sha256$";
const ITERATIONS = 600_000;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** More would use a CPU for many seconds per request. */
const MAX_ITERATIONS = 10_000_000;
/** A shorter hash can be guessed, even for a strong password. */
const MIN_HASH_BYTES = 16;
const MAX_HASH_BYTES = 64;

export function parseStoredPassword(text: string): StoredPassword {
  if (text === "") return malformedPassword("it is empty");
  if (text.startsWith(PBKDF2)) return parsePbkdf2(text.slice(PBKDF2.length));
  if (/^[0-9a-f]{32}$/.test(text)) return { kind: "md5", hash: Buffer.from(text, "hex") };
  return { kind: "plain", text };
}

function parsePbkdf2(text: string): StoredPassword {
  const parts = text.split("$");
  const [iterations = "", saltText = "", hashText = ""] = parts;
  if (parts.length !== 3) return malformedPassword(`it is not ${PBKDF2}<iterations>$<salt>$<hash>`);
  if (!/^[1-9]\d{0,7}$/.test(iterations) || Number(iterations) > MAX_ITERATIONS) {
    return malformedPassword(`its iterations are not a number from 1 to ${MAX_ITERATIONS}`);
  }
  const salt = decodeHashText(saltText);
  if (salt === undefined || salt.length === 0) return malformedPassword("its salt is not base64");
  const hash = decodeHashText(hashText);
  if (hash === undefined || hash.length === 0) return malformedPassword("its hash is not base64");
  if (hash.length < MIN_HASH_BYTES || hash.length > MAX_HASH_BYTES) {
    return malformedPassword(`its hash has ${hash.length} bytes, not ${MIN_HASH_BYTES} to ${MAX_HASH_BYTES}`);
  }
  return { kind: "pbkdf2", iterations: Number(iterations), salt, hash };
}

function malformedPassword(reason: string): StoredPassword {
  return { kind: "malformed", reason };
}

/** Python's passlib writes a dot instead of a plus. */
function decodeHashText(text: string): Buffer | undefined {
  return decodeBase64(text.replaceAll(".", "+"));
}

export interface Derivation {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly iterations: number;
  readonly bytes: number;
}

export type Derive = (derivation: Derivation) => Promise<Buffer>;

/** PBKDF2-SHA256 on another thread, so that other requests are not blocked. */
export function deriveKey({ password, salt, iterations, bytes }: Derivation): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    pbkdf2(password, salt, iterations, bytes, "sha256", (error, key) => (error ? reject(error) : resolve(key)));
  });
}

/** Uses a random salt. URL-safe and without padding, for compatibility with flAPI. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await deriveKey({ password, salt, iterations: ITERATIONS, bytes: HASH_BYTES });
  return `${PBKDF2}${ITERATIONS}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

/** The cost of a check, in rounds of PBKDF2. Zero for other passwords. */
export function costOf(stored: StoredPassword): number {
  // A longer hash consists of several blocks, each with all rounds.
  return stored.kind === "pbkdf2" ? stored.iterations * Math.ceil(stored.hash.length / HASH_BYTES) : 0;
}

/** Checks a password that needs no PBKDF2. False for hashes that do. */
export function matchesWithoutPbkdf2(password: string, stored: StoredPassword): boolean {
  switch (stored.kind) {
    case "plain":
      return timingSafeEqual(sha256(password), sha256(stored.text));
    case "md5":
      return timingSafeEqual(createHash("md5").update(password).digest(), stored.hash);
    case "pbkdf2":
    case "malformed":
      return false;
  }
}

const DUMMY_SALT = randomBytes(SALT_BYTES);

/** Checks a PBKDF2 hash. A wrong password always takes `cost` rounds, so that timing does not reveal user names. */
export async function matchesHash(
  password: string,
  stored: StoredPassword,
  { derive, cost }: { readonly derive: Derive; readonly cost: number },
): Promise<boolean> {
  if (stored.kind === "pbkdf2") {
    const { salt, iterations, hash } = stored;
    if (timingSafeEqual(await derive({ password, salt, iterations, bytes: hash.length }), hash)) return true;
  }
  const rest = cost - costOf(stored);
  if (rest > 0) await derive({ password, salt: DUMMY_SALT, iterations: rest, bytes: HASH_BYTES });
  return false;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
