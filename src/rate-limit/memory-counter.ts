import { shortKey } from "../auth/client-network.ts";
import { openWindowCounts, type WindowCountsOptions } from "../bounded/window-counts.ts";
import type { Count, Counter, CountLimit } from "./counter.ts";

export interface MemoryCounter extends Counter {
  /** Never a promise. */
  count(key: string, points: number, limit: CountLimit): Count;
  /** How many keys are kept. */
  size(): number;
}

/** Longer keys, with long names of endpoints or users, are kept as a hash: each takes as much as any other. */
const LONGEST_KEY = 64;

/** Counters of this process alone. */
export function openMemoryCounter(options: WindowCountsOptions): MemoryCounter {
  const counts = openWindowCounts(options);
  return {
    count(key, points, { max, windowSeconds }) {
      const kept = key.length > LONGEST_KEY ? shortKey("key", key) : key;
      return counts.count(kept, points, { max, windowMs: windowSeconds * 1000 });
    },
    size: counts.size,
    async close() {
      counts.clear();
    },
  };
}
