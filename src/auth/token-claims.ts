/** The range of `Date`, in seconds before and after 1970. */
const LAST_SECOND = 8_640_000_000_000;

/** Whether a claim is a valid NumericDate. Excludes numbers such as 1e999, which JavaScript parses as Infinity. */
export function isNumericDate(claim: unknown): claim is number {
  return typeof claim === "number" && Math.abs(claim) <= LAST_SECOND;
}

/**
 * Keycloak sets the claim `typ`, such as `Bearer` for an access token. ID, refresh and offline tokens are issued
 * for the same user and may have a valid signature, but an API must not accept them. True if `typ` is absent or unknown.
 */
export function mayBeAccessToken(typ: unknown): boolean {
  return !(typeof typ === "string" && /^(?:id|refresh|offline)$/i.test(typ));
}
