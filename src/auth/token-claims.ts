/** The last second that a `Date` can hold, from 1970 on, in either direction. */
const LAST_SECOND = 8_640_000_000_000;

/** Whether a claim is a NumericDate that we can compare. JSON has numbers that are infinite for us: 1e999. */
export function isNumericDate(claim: unknown): claim is number {
  return typeof claim === "number" && Math.abs(claim) <= LAST_SECOND;
}

/**
 * Keycloak writes the purpose of a token into its claim `typ`; an access token has `Bearer`. ID and refresh tokens are
 * signed alike and name the same user, but are for the client that got them, not for an API.
 */
export function isForApis(typ: unknown): boolean {
  return !(typeof typ === "string" && /^(?:id|refresh|offline)$/i.test(typ));
}
