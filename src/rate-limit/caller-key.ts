import { networkKey, shortKey } from "../auth/client-network.ts";
import type { RateLimitPolicy } from "./policy.ts";

/** The client of a call. */
export interface Caller {
  readonly address: string;
  readonly username: string | undefined;
}

/** The key of a client. It contains no spaces, and is unique: users and addresses have different prefixes. */
export function callerKey(key: RateLimitPolicy["key"], { address, username }: Caller): string {
  switch (key) {
    case "ip":
      return networkKey(address);
    case "user":
    case "user-or-ip":
      return username === undefined ? networkKey(address) : shortKey("user", username);
  }
}
