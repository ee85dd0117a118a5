import type { CryptoKey, JWK } from "jose";
import { isObject, type JsonObject, member, textMember } from "./json.ts";

/** A public key of the provider. Remains the same object as long as the provider publishes it. */
export interface PublicKey {
  readonly kid: string | undefined;
  /** Only Microsoft sets it: the tenants for which the key is valid. */
  readonly issuer: string | undefined;
  /** Whether it can verify signatures of this algorithm. */
  supports(algorithm: string): boolean;
  /** Rejects if the key is invalid. */
  load(algorithm: string): Promise<CryptoKey>;
}

export interface KeySet {
  readonly size: number;
  has(key: PublicKey): boolean;
  /** The keys that may have signed a token. Without a `kid`, all keys for the algorithm. */
  candidates(algorithm: string, kid: string | undefined): readonly PublicKey[];
  /** The key with this fingerprint. */
  find(fingerprint: string): PublicKey | undefined;
}

/** The asymmetric algorithms, with the kind of key that each requires. */
const KEY_TYPES: ReadonlyMap<string, string> = new Map([
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((name) => [name, "RSA"] as const),
  ["ES256", "EC P-256"],
  ["ES384", "EC P-384"],
  ["ES512", "EC P-521"],
  ["EdDSA", "OKP Ed25519"],
  ["Ed25519", "OKP Ed25519"],
]);

export function isAsymmetric(algorithm: unknown): algorithm is string {
  return typeof algorithm === "string" && KEY_TYPES.has(algorithm);
}

/** Reads a key set. Known keys remain the same objects. Keys that cannot verify signatures are omitted. */
export function readKeySet(document: JsonObject, previous: KeySet | undefined): KeySet {
  const listed = member(document, "keys");
  const keys = new Map<string, PublicKey>();
  for (const jwk of Array.isArray(listed) ? listed : []) {
    const part = isObject(jwk) ? publicPart(jwk) : undefined;
    if (part === undefined) continue;
    const fingerprint = JSON.stringify(part);
    keys.set(fingerprint, previous?.find(fingerprint) ?? keyOf(part));
  }
  const all = [...keys.values()];
  const objects = new Set(all);
  return {
    size: all.length,
    has: (key) => objects.has(key),
    candidates: (algorithm, kid) =>
      all.filter((key) => (kid === undefined || key.kid === kid) && key.supports(algorithm)),
    find: (fingerprint) => keys.get(fingerprint),
  };
}

interface PublicPart {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly issuer: string | undefined;
  readonly material: JWK;
}

/** The public members of a JWK. Ignores private ones, which a provider may publish by mistake. */
function publicPart(jwk: JsonObject): PublicPart | undefined {
  const use = member(jwk, "use");
  const operations = member(jwk, "key_ops");
  if (use !== undefined && use !== "sig") return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  const material = materialOf(jwk);
  if (material === undefined) return undefined;
  const [kid, alg, issuer] = [textMember(jwk, "kid"), textMember(jwk, "alg"), textMember(jwk, "issuer")];
  return { kid, alg, issuer, material };
}

function materialOf(jwk: JsonObject): JWK | undefined {
  const [kty, crv] = [textMember(jwk, "kty"), textMember(jwk, "crv")];
  const [n, e, x, y] = ["n", "e", "x", "y"].map((name) => textMember(jwk, name));
  if (kty === "RSA" && n !== undefined && e !== undefined) return { kty, n, e };
  if (crv === undefined || x === undefined) return undefined;
  if (kty === "EC" && y !== undefined) return { kty, crv, x, y };
  return kty === "OKP" ? { kty, crv, x } : undefined;
}

function keyOf({ kid, alg, issuer, material }: PublicPart): PublicKey {
  const kind = material.crv === undefined ? material.kty : `${material.kty} ${material.crv}`;
  const loaded = new Map<string, Promise<CryptoKey>>();
  return {
    kid,
    issuer,
    supports: (algorithm) =>
      KEY_TYPES.get(algorithm) === kind && (alg === undefined || canonicalName(alg) === canonicalName(algorithm)),
    load(algorithm) {
      const key = loaded.get(algorithm) ?? importKey(material, algorithm);
      loaded.set(algorithm, key);
      return key;
    },
  };
}

/** RFC 9864 renamed `EdDSA` with this curve. */
function canonicalName(algorithm: string): string {
  return algorithm === "EdDSA" ? "Ed25519" : algorithm;
}

async function importKey(material: JWK, algorithm: string): Promise<CryptoKey> {
  const { importJWK } = await import("jose");
  const key = await importJWK(material, algorithm);
  if (key instanceof Uint8Array) throw new Error("expected a public key, not a shared secret");
  return key;
}
