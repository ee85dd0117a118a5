/** The range of `Date`, in seconds before and after 1970. */
const LAST_SECOND = 8_640_000_000_000;

/** Whether a claim is a valid NumericDate. Excludes numbers such as 1e999, which JavaScript parses as infinite. */
export function isNumericDate(claim: unknown): claim is number {
  return typeof claim === "number" && Math.abs(claim) <= LAST_SECOND;
}

/**
 * Keycloak sets the claim `typ`, such as `Bearer` for an access token. ID and refresh tokens have the same signature and user,
 * but must not be accepted by an API.
 */
export function isForApis(typ: unknown): boolean {
  return !(typeof typ === "string" && /^(?:id|refresh|offline)$/i.test(typ));
}
