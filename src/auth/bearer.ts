import { timingSafeEqual } from "node:crypto";
import type { Report } from "../events.ts";
import type { AuthenticationResult, Authenticator } from "./authenticator.ts";
import { bearerToken } from "./authorization.ts";
import { type Fingerprint, keyOf, openFingerprint } from "./fingerprint.ts";
import { identityOf, openCommaWarning } from "./identity.ts";
import { openJwtVerifier } from "./jwt.ts";
import type { BearerPolicy } from "./policy.ts";
import { bytesOfResult, openExpiringCache, VERIFIED_BYTES } from "./verified.ts";

export interface BearerOptions {
  readonly report: Report;
  readonly now: () => number;
  /** For tokens that never expire. */
  readonly cacheMs?: number;
  readonly maxCacheBytes?: number;
}

const unauthorized: AuthenticationResult = { kind: "refused", failure: { kind: "unauthorized", scheme: "bearer" } };
/** For example, the JWT library could not be loaded. */
const internal: AuthenticationResult = { kind: "refused", failure: { kind: "internal" } };

/** Shared tokens and JWTs. */
export function openBearer(
  { jwt, tokens }: BearerPolicy,
  { report, now, cacheMs = 5 * 60_000, maxCacheBytes = VERIFIED_BYTES }: BearerOptions,
): Authenticator {
  const fingerprintOf = openFingerprint();
  const findShared = sharedTokens(tokens, fingerprintOf);
  const verify = jwt && openJwtVerifier(jwt, now);
  const verified = openExpiringCache({ maxBytes: maxCacheBytes, bytesOf: bytesOfResult, now });
  const warnAboutComma = openCommaWarning(report);

  async function check(token: string, key: string): Promise<AuthenticationResult> {
    const claims = await verify?.(token);
    if (claims === undefined) return unauthorized;
    // If a concurrent request with the same token was faster, both must get the same object.
    const known = verified.get(key);
    if (known !== undefined) return known;
    const identity = identityOf({ type: "bearer", ...claims });
    warnAboutComma(identity);
    const found: AuthenticationResult = { kind: "identity", identity };
    verified.set(key, found, claims.expiresAt ?? now() + cacheMs);
    return found;
  }

  return {
    authenticate({ authorization }) {
      const token = bearerToken(authorization);
      if (token === undefined) return unauthorized;
      const fingerprint = fingerprintOf(token);
      const key = keyOf(fingerprint);
      const known = verified.get(key) ?? findShared(fingerprint);
      if (known !== undefined) return known;
      return verify === undefined ? unauthorized : check(token, key).catch(() => internal);
    },
  };
}

/** Compares with every token, so that the duration reveals nothing. */
function sharedTokens(
  tokens: BearerPolicy["tokens"],
  fingerprintOf: Fingerprint,
): (fingerprint: Buffer) => AuthenticationResult | undefined {
  const known = tokens.map(({ token, username, roles }) => {
    const found: AuthenticationResult = { kind: "identity", identity: identityOf({ type: "bearer", username, roles }) };
    return { fingerprint: fingerprintOf(token), found };
  });
  return (fingerprint) => {
    let found: AuthenticationResult | undefined;
    for (const each of known) {
      if (timingSafeEqual(fingerprint, each.fingerprint)) found ??= each.found;
    }
    return found;
  };
}
