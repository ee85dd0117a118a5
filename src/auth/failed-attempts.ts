import { openWindowCounts } from "../bounded/window-counts.ts";
import { networkKey } from "./client-network.ts";

/** Counts wrong credentials by address, to slow down guessing. */
export interface FailedAttempts {
  /** Seconds until this address may try again. Undefined if it is not blocked. */
  blockedFor(address: string): number | undefined;
  failed(address: string): void;
}

export interface FailedAttemptsOptions {
  readonly now: () => number;
  /** Failed attempts per window. */
  readonly max?: number;
  readonly windowMs?: number;
  readonly maxAddresses?: number;
}

export function openFailedAttempts({
  now,
  max = 100,
  windowMs = 60_000,
  maxAddresses = 10_000,
}: FailedAttemptsOptions): FailedAttempts {
  const counts = openWindowCounts({ now, maxKeys: maxAddresses });
  const limit = { max, windowMs };
  return {
    blockedFor(address) {
      const { consumed, endsInMs } = counts.count(networkKey(address), 0, limit);
      return consumed < max ? undefined : Math.ceil(endsInMs / 1000);
    },
    failed: (address) => void counts.count(networkKey(address), 1, limit),
  };
}
