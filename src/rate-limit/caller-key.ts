import { networkKey, shortKey } from "../auth/client-network.ts";
import type { RateLimitPolicy } from "./policy.ts";

/** Who a call is counted for. */
export interface Caller {
  readonly address: string;
  readonly username: string | undefined;
}

/**
 * What a call is counted under. It holds no space, and no two callers share one: users and addresses have prefixes of
 * their own, and whatever is long or strange stands there as a hash.
 */
export function callerKey(key: RateLimitPolicy["key"], { address, username }: Caller): string {
  switch (key) {
    case "ip":
      return networkKey(address);
    case "user":
    case "user-or-ip":
      return username === undefined ? networkKey(address) : shortKey("user", username);
  }
}
