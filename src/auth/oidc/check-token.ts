import type { Failure } from "../../failure.ts";
import type { Identity } from "../identity.ts";
import type { OidcPolicy } from "../policy.ts";
import { identityFrom, issuerFor, validUntil } from "./claims.ts";
import { type JsonObject, member, parseObject } from "./json.ts";
import { isAsymmetric, type PublicKey } from "./key-set.ts";
import { TENANT } from "./metadata.ts";
import type { Provider, ProviderState } from "./provider.ts";

/** The result of a token check. */
export type CheckedToken =
  | {
      readonly kind: "valid";
      readonly identity: Identity;
      /** In milliseconds. Infinite if the token does not expire, or its expiry is not checked. */
      readonly until: number;
      /** False if the token would no longer be accepted, even before `until`. */
      readonly isCurrent: () => boolean;
    }
  | { readonly kind: "refused"; readonly failure: Failure };

export type CheckToken = (token: string) => Promise<CheckedToken>;

export function refusal(failure: Failure): CheckedToken & { readonly kind: "refused" } {
  return { kind: "refused", failure };
}

export const unauthorized = refusal({ kind: "unauthorized", scheme: "bearer" });
export const providerDown = refusal({ kind: "provider-down" });

/** Verifies tokens with the keys of the configured provider. A token cannot choose the provider. */
export function openTokenCheck(policy: OidcPolicy, provider: Provider, now: () => number): CheckToken {
  function accept({ claims, key }: Signed, { metadata }: ProviderState): CheckedToken {
    const until = validUntil(policy, claims, { issuer: metadata.issuer, now: now() });
    const identity = identityFrom(policy, claims);
    if (until === undefined || identity === undefined || !signsFor(key, metadata.issuer, claims)) return unauthorized;
    return { kind: "valid", identity, until, isCurrent: () => provider.current()?.keys.has(key) ?? false };
  }

  return async (token) => {
    const header = readHeader(token);
    if (header === undefined) return unauthorized;
    const known = await provider.load();
    if (known === undefined) return providerDown;
    const signed = await verifySignature(known, token, header);
    if (signed !== undefined) return accept(signed, known);
    // Without a `kid`, only a wrong signature can indicate a new key.
    const mayBeNew = header.kid === undefined || known.keys.candidates(header.alg, header.kid).length === 0;
    const renewed = mayBeNew ? await provider.renew(known) : known;
    if (renewed === undefined || renewed === known) return unauthorized;
    const signedByNewKey = await verifySignature(renewed, token, header);
    return signedByNewKey === undefined ? unauthorized : accept(signedByNewKey, renewed);
  };
}

interface Header {
  readonly alg: string;
  readonly kid: string | undefined;
}

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const TYPE = /^(application\/)?(at\+)?jwt$/i;

/** Undefined if the token cannot be verified. Ignores `jku`, `x5u`, `jwk` and `x5c`. */
function readHeader(token: string): Header | undefined {
  if (!TOKEN.test(token)) return undefined;
  // The unused bits of the signature must be zero, so that each token has only one spelling.
  const signature = token.slice(token.lastIndexOf(".") + 1);
  if (Buffer.from(signature, "base64url").toString("base64url") !== signature) return undefined;
  const header = parseObject(Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString());
  if (header === undefined) return undefined;
  // These change the meaning of the rest: extensions, compression, nested tokens.
  if (["crit", "zip", "b64", "cty", "enc"].some((name) => Object.hasOwn(header, name))) return undefined;
  const [alg, kid, typ] = ["alg", "kid", "typ"].map((name) => member(header, name));
  if (!isAsymmetric(alg) || (kid !== undefined && typeof kid !== "string")) return undefined;
  // Tokens for other purposes, such as logout, have another type.
  if (typ !== undefined && !(typeof typ === "string" && TYPE.test(typ))) return undefined;
  return { alg, kid };
}

interface Signed {
  readonly claims: JsonObject;
  readonly key: PublicKey;
}

async function verifySignature(
  { keys }: ProviderState,
  token: string,
  { alg, kid }: Header,
): Promise<Signed | undefined> {
  const { compactVerify } = await import("jose");
  for (const key of keys.candidates(alg, kid)) {
    try {
      const { payload } = await compactVerify(token, await key.load(alg), { algorithms: [alg] });
      const claims = parseObject(new TextDecoder("utf-8", { fatal: true }).decode(payload));
      if (claims !== undefined) return { claims, key };
    } catch {
      // Not signed with this key, or the key is invalid.
    }
  }
  return undefined;
}

/** Some of Microsoft's keys are valid for one tenant only, although all tenants list them. */
function signsFor(key: PublicKey, issuer: string, claims: JsonObject): boolean {
  if (key.issuer === undefined || !issuer.includes(TENANT)) return true;
  return issuerFor(key.issuer, claims) === member(claims, "iss");
}
