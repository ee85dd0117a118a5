import { createSecretKey } from "node:crypto";
import type { JWTHeaderParameters, JWTPayload } from "jose";
import type { Claims } from "./identity.ts";
import type { BearerPolicy } from "./policy.ts";
import { isNumericDate, mayBeAccessToken } from "./token-claims.ts";

export interface JwtClaims extends Omit<Claims, "type"> {
  /** In milliseconds. Undefined if it never expires. */
  readonly expiresAt: number | undefined;
}

/** Three parts, and an HS256 signature in its canonical spelling, so that each token has only one spelling. */
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** Verifies tokens that are signed with a secret. Returns undefined for any invalid token. */
export function openJwtVerifier(
  { secret, issuer }: NonNullable<BearerPolicy["jwt"]>,
  now: () => number,
): (token: string) => Promise<JwtClaims | undefined> {
  const key = createSecretKey(Buffer.from(secret));
  return async (token) => {
    if (!SHAPE.test(token)) return undefined;
    const { jwtVerify } = await import("jose");
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key, {
        algorithms: ["HS256"],
        currentDate: new Date(now()),
        ...(issuer === undefined ? {} : { issuer }),
      });
      const claims = isPlain(protectedHeader) ? claimsOf(payload) : undefined;
      // The library compares whole seconds.
      return claims?.expiresAt !== undefined && claims.expiresAt <= now() ? undefined : claims;
    } catch {
      return undefined;
    }
  };
}

/** Whether the payload is plain claims: no extensions, no compression, no nested token. */
function isPlain(header: JWTHeaderParameters): boolean {
  const names = Object.keys(header);
  return (
    !["crit", "b64", "zip", "enc"].some((name) => names.includes(name)) &&
    !/^(application\/)?jwt$/i.test(String(header.cty))
  );
}

function claimsOf(payload: JWTPayload): JwtClaims | undefined {
  const { sub, roles, email, groups, exp, nbf, iat, typ } = payload;
  if (!mayBeAccessToken(typ) || ![exp, nbf, iat].every((date) => date === undefined || isNumericDate(date)))
    return undefined;
  const roleNames = stringsOf(roles ?? []);
  // By its type, `sub` is a string, but the library does not check this.
  if (typeof sub !== "string" || sub === "" || roleNames === undefined) return undefined;
  return {
    username: sub,
    email: typeof email === "string" && email !== "" ? email : undefined,
    roles: roleNames,
    groups: stringsOf(groups) ?? [],
    expiresAt: exp === undefined ? undefined : exp * 1000,
  };
}

/** A list of strings, or a single string. Undefined for anything else. */
function stringsOf(claim: unknown): readonly string[] | undefined {
  if (typeof claim === "string") return claim === "" ? [] : [claim];
  return Array.isArray(claim) && claim.every((each) => typeof each === "string")
    ? claim.filter((each) => each !== "")
    : undefined;
}
