import type { RateState } from "./rate-limiter.ts";

/** The headers of every response from an endpoint with a rate limit, whether the request is rejected or not. */
export function rateLimitHeaders(state: RateState): readonly (readonly [name: string, value: string])[] {
  return [
    ["X-RateLimit-Limit", `${state.limit}`],
    ["X-RateLimit-Remaining", `${state.remaining}`],
    ["X-RateLimit-Reset", `${Math.ceil(state.resetAtMs / 1000)}`],
    ["RateLimit", `"default";r=${state.remaining};t=${state.retryAfterSeconds}`],
    ["RateLimit-Policy", `"default";q=${state.limit};w=${state.windowSeconds}`],
  ];
}
