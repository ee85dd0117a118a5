import { shortKey } from "../auth/client-network.ts";
import { openWindowCounts, type WindowCountsOptions } from "../bounded/window-counts.ts";
import type { Count, Counter, CountLimit } from "./counter.ts";

export interface MemoryCounter extends Counter {
  /** Synchronous. */
  count(key: string, points: number, limit: CountLimit): Count;
  /** The number of stored keys. */
  size(): number;
}

/** Longer keys are hashed, so that each key needs little memory. */
const MAX_KEY_LENGTH = 64;

/** Counts in this process only. */
export function openMemoryCounter(options: WindowCountsOptions): MemoryCounter {
  const counts = openWindowCounts(options);
  return {
    count(key, points, { max, windowSeconds }) {
      const storedKey = key.length > MAX_KEY_LENGTH ? shortKey("key", key) : key;
      return counts.count(storedKey, points, { max, windowMs: windowSeconds * 1000 });
    },
    size: counts.size,
    async close() {
      counts.clear();
    },
  };
}
