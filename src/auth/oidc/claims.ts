import { type Identity, identityOf } from "../identity.ts";
import type { OidcPolicy } from "../policy.ts";
import { isNumericDate, mayBeAccessToken } from "../token-claims.ts";
import { isObject, type JsonObject, member, textMember } from "./json.ts";
import { isTenantId, TENANT } from "./metadata.ts";

/** When a token expires, in milliseconds. Undefined if it is not valid. */
export function validUntil(
  policy: OidcPolicy,
  claims: JsonObject,
  { issuer, now }: { readonly issuer: string; readonly now: number },
): number | undefined {
  if (!isWellFormed(claims) || isLogoutToken(claims) || !mayBeAccessToken(member(claims, "typ"))) return undefined;
  if (!isFromIssuer(policy, claims, issuer) || !isForAudience(policy, claims)) return undefined;
  const skew = policy.clockSkewSeconds;
  const [exp, nbf] = [secondsOf(claims, "exp"), secondsOf(claims, "nbf")];
  if (nbf !== undefined && now < (nbf - skew) * 1000) return undefined;
  if (!policy.verifyExpiration) return Number.POSITIVE_INFINITY;
  if (exp === undefined || now >= (exp + skew) * 1000) return undefined;
  return (exp + skew) * 1000;
}

/** Undefined if the claims contain no identity, or one that cannot be read. */
export function identityFrom(policy: OidcPolicy, claims: JsonObject): Identity | undefined {
  const username = textMember(claims, policy.usernameClaim);
  const email = member(claims, policy.emailClaim);
  const roles = stringsOf(rolesIn(policy, claims));
  const groups = stringsOf(member(claims, policy.groupsClaim));
  if (username === undefined || roles === undefined || groups === undefined) return undefined;
  if (email !== undefined && typeof email !== "string") return undefined;
  // Users can sign up with the email address of another user, so an unverified one is no identity.
  if (policy.usernameClaim === "email" && member(claims, "email_verified") === false) return undefined;
  return identityOf({ type: "oidc", username, email: email === "" ? undefined : email, roles, groups });
}

/** The issuer, with the placeholder replaced by the token's tenant. */
export function issuerFor(issuer: string, claims: JsonObject): string | undefined {
  if (!issuer.includes(TENANT)) return issuer;
  const tenant = textMember(claims, "tid");
  return tenant !== undefined && isTenantId(tenant) ? issuer.replace(TENANT, tenant) : undefined;
}

function isFromIssuer({ provider }: OidcPolicy, claims: JsonObject, issuer: string): boolean {
  const iss = textMember(claims, "iss");
  if (iss === undefined) return false;
  // Google documents that some of its tokens omit the scheme.
  return iss === issuerFor(issuer, claims) || (provider === "google" && `https://${iss}` === issuer);
}

function isForAudience({ audiences }: OidcPolicy, claims: JsonObject): boolean {
  const aud = stringsOf(member(claims, "aud"));
  if (aud === undefined) return false;
  return audiences.length === 0 || aud.some((name) => audiences.includes(name));
}

/** Logout tokens are signed with the same keys, but are not credentials. */
function isLogoutToken(claims: JsonObject): boolean {
  const events = member(claims, "events");
  return isObject(events) && Object.hasOwn(events, "http://schemas.openid.net/event/backchannel-logout");
}

/** Checks the types of claims of RFC 7519 that may not be checked elsewhere. */
function isWellFormed(claims: JsonObject): boolean {
  if (Object.hasOwn(claims, "sub") && typeof claims["sub"] !== "string") return false;
  return ["exp", "nbf", "iat"].every((name) => !Object.hasOwn(claims, name) || secondsOf(claims, name) !== undefined);
}

function secondsOf(claims: JsonObject, name: string): number | undefined {
  const value = member(claims, name);
  return isNumericDate(value) ? value : undefined;
}

function rolesIn({ roleClaimPath, rolesClaim }: OidcPolicy, claims: JsonObject): unknown {
  const nested = roleClaimPath === undefined ? undefined : memberAt(claims, roleClaimPath.split("."));
  return nested ?? member(claims, rolesClaim);
}

/** Follows a dotted path. Names may contain dots themselves, as those of Keycloak clients do. */
function memberAt(object: JsonObject, path: readonly string[]): unknown {
  for (let length = 1; length <= path.length; length++) {
    const value = member(object, path.slice(0, length).join("."));
    if (length === path.length) return value;
    const found = isObject(value) ? memberAt(value, path.slice(length)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A list of strings, or a single string. Without a value, an empty list. Undefined for anything else. */
function stringsOf(value: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [value];
  const found = list.filter((item) => typeof item === "string");
  return found.length === list.length ? found.filter((item) => item !== "") : undefined;
}
