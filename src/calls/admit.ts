import type { AuthenticationResult } from "../auth/authenticator.ts";
import { anonymous, type Identity } from "../auth/identity.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { andThen } from "../eventually.ts";
import { RequestFailure } from "../failure.ts";
import type { RateLimiter, RateState } from "../rate-limit/rate-limiter.ts";

/** A rate-limited resource. Calls are counted under its name. */
export type RateLimitTarget = Pick<Endpoint, "name" | "rateLimit">;

export interface Admission {
  readonly rateLimiter: Pick<RateLimiter, "take">;
  /** The client's address. */
  readonly address: () => string;
  /** Receives the client's rate limit state, if there is a limit. */
  readonly onRateLimitState: ((state: RateState) => void) | undefined;
}

/**
 * Counts a call against the rate limit and returns its identity. Rejects with a RequestFailure if the limit is exceeded or
 * authentication failed. Failed attempts count against the client's address. Nothing else applies rate limits.
 */
export function admit(
  result: AuthenticationResult,
  target: RateLimitTarget,
  admission: Admission,
): Identity | Promise<Identity> {
  const identity = result.kind === "identity" ? result.identity : anonymous;
  return andThen(countCall(identity, target, admission), () => {
    if (result.kind === "refused") throw new RequestFailure(result.failure);
    return identity;
  });
}

function countCall(
  identity: Identity,
  { name, rateLimit }: RateLimitTarget,
  { rateLimiter, address, onRateLimitState }: Admission,
): void | Promise<void> {
  if (rateLimit === undefined) return;
  const client = { address: address(), username: identity.get("username")?.text };
  return andThen(rateLimiter.take(name, rateLimit, client), (state) => {
    onRateLimitState?.(state);
    const { allowed, retryAfterSeconds } = state;
    if (!allowed) throw new RequestFailure({ kind: "too-many-requests", retryAfterSeconds });
  });
}
