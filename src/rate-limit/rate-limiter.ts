import type { Report } from "../events.ts";
import { type Caller, callerKey } from "./caller-key.ts";
import type { Count, Counter } from "./counter.ts";
import { openMemoryCounter } from "./memory-counter.ts";
import type { RateLimitPolicy } from "./policy.ts";
import { openRedisCounter } from "./redis-counter.ts";
import { parseStoreAddress } from "./store-address.ts";

/** The state of a client under one rate limit. */
export interface RateState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix time. */
  readonly resetAtMs: number;
  /** At least 1. */
  readonly retryAfterSeconds: number;
  readonly windowSeconds: number;
}

export interface RateLimiter {
  /** Counts one call of an endpoint, or `points` calls. With 0, checks whether another call is allowed. Never rejects. */
  take(name: string, policy: RateLimitPolicy, caller: Caller, points?: number): RateState | Promise<RateState>;
  close(): Promise<void>;
}

export interface RateLimiterOptions {
  readonly now: () => number;
  readonly report: Report;
  /** Eider connects to their stores at startup, so that no request waits, and reports a store that is down. */
  readonly policies?: readonly RateLimitPolicy[];
  /** How long a request waits for the store before this process counts alone. */
  readonly storeTimeoutMs?: number;
  readonly maxKeys?: number;
}

const STORE_TIMEOUT_MS = 250;
const MAX_KEYS = 100_000;

export function openRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { now, report, policies = [], storeTimeoutMs = STORE_TIMEOUT_MS, maxKeys = MAX_KEYS } = options;
  const memory = openMemoryCounter({ now, maxKeys });
  const sharedCounters = new Map<string, Counter>();

  function counterOf(store: string | undefined): Counter {
    if (store === undefined) return memory;
    const known = sharedCounters.get(store);
    if (known !== undefined) return known;
    const address = parseStoreAddress(store);
    if (address === undefined) {
      const message = "it is not a redis:// or rediss:// address; each process counts for itself";
      report({ kind: "dependency-down", dependency: "rate-limit store", message });
    }
    const counter = address === undefined ? memory : openRedisCounter(address, { memory, report, storeTimeoutMs });
    sharedCounters.set(store, counter);
    return counter;
  }

  for (const { store } of policies) counterOf(store);

  return {
    take(name, { max, intervalSeconds, key, store }, caller, points = 1) {
      const stateOf = ({ consumed, endsInMs }: Count): RateState => ({
        allowed: points === 0 ? consumed < max : consumed <= max,
        limit: max,
        remaining: Math.max(0, max - consumed),
        resetAtMs: now() + endsInMs,
        retryAfterSeconds: Math.max(1, Math.ceil(endsInMs / 1000)),
        windowSeconds: intervalSeconds,
      });
      // `callerKey` contains no spaces, so different pairs have different keys.
      const counted = counterOf(store).count(`${callerKey(key, caller)} ${name}`, points, {
        max,
        windowSeconds: intervalSeconds,
      });
      return counted instanceof Promise ? counted.then(stateOf) : stateOf(counted);
    },
    async close() {
      await Promise.all([...sharedCounters.values()].map((counter) => counter.close()));
      await memory.close();
    },
  };
}
