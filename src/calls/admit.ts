import type { Authenticated } from "../auth/authenticator.ts";
import { anonymous, type Identity } from "../auth/identity.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { RequestFailure } from "../failure.ts";
import type { RateLimiter, RateState } from "../rate-limit/rate-limiter.ts";
import { andThen } from "./and-then.ts";

/** Something with a rate limit of its own. Calls are counted under its name. */
export type Limited = Pick<Endpoint, "name" | "rateLimit">;

export interface Admission {
  readonly rateLimiter: Pick<RateLimiter, "take">;
  /** Of the client. */
  readonly address: () => string;
  /** Receives the client's place within the rate limit, where there is one. */
  readonly onCounted: ((state: RateState) => void) | undefined;
}

/**
 * Counts a call against the rate limit, and returns who makes it; rejects with a RequestFailure when it is too many, or when
 * authentication failed. Failed attempts count for the client's address. The only place where a rate limit is taken.
 */
export function admit(found: Authenticated, limited: Limited, admission: Admission): Identity | Promise<Identity> {
  const identity = found.kind === "identity" ? found.identity : anonymous;
  return andThen(count(identity, limited, admission), () => {
    if (found.kind === "refused") throw new RequestFailure(found.failure);
    return identity;
  });
}

function count(
  identity: Identity,
  { name, rateLimit }: Limited,
  { rateLimiter, address, onCounted }: Admission,
): void | Promise<void> {
  if (rateLimit === undefined) return;
  const who = { address: address(), username: identity.get("username")?.text };
  return andThen(rateLimiter.take(name, rateLimit, who), (state) => {
    onCounted?.(state);
    const { allowed, retryAfterSeconds } = state;
    if (!allowed) throw new RequestFailure({ kind: "too-many-requests", retryAfterSeconds });
  });
}
