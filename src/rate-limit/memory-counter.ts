import type { RateLimiterMemory } from "rate-limiter-flexible";
import type { Count, Counter } from "./counter.ts";

export interface MemoryCounter extends Counter {
  /** Loads what counts, so that the first request does not have to wait for it. */
  prepare(): Promise<unknown>;
  /** How many keys are remembered. */
  size(): number;
}

export interface MemoryCounterOptions {
  readonly now: () => number;
  /** Beyond it the key whose window ends first is forgotten: it is the one that is forgiven least. */
  readonly maxKeys: number;
}

/** Timers take no longer delay, and the library's keys would vanish at once. */
const LONGEST_SECONDS = 2_147_483;

/** Counters of this process alone. */
export function openMemoryCounter({ now, maxKeys }: MemoryCounterOptions): MemoryCounter {
  // When windows end, by key. Those of one length end in the order in which they began.
  const ends = new Map<number, Map<string, number>>();
  let loading: Promise<RateLimiterMemory> | undefined;
  let limiter: RateLimiterMemory | undefined;

  async function load(): Promise<RateLimiterMemory> {
    const { RateLimiterMemory } = await import("rate-limiter-flexible");
    // Each call says how long its window is, and judges the count itself.
    limiter = new RateLimiterMemory({ keyPrefix: "", points: 0, duration: 1 });
    return limiter;
  }

  function prepare(): Promise<RateLimiterMemory> {
    loading ??= load();
    return loading;
  }

  function size(): number {
    let sum = 0;
    for (const keys of ends.values()) sum += keys.size;
    return sum;
  }

  function forgetEnded(): void {
    const time = now();
    for (const keys of ends.values()) {
      for (const [key, end] of keys) {
        if (end > time) break;
        // The library forgets by itself; by now it may have begun another window for the key.
        keys.delete(key);
      }
    }
  }

  function forgetFirstToEnd(): void {
    let found: { readonly keys: Map<string, number>; readonly key: string; readonly end: number } | undefined;
    for (const keys of ends.values()) {
      for (const [key, end] of keys) {
        if (found === undefined || end < found.end) found = { keys, key, end };
        break;
      }
    }
    if (found === undefined) return;
    found.keys.delete(found.key);
    void limiter?.delete(found.key);
  }

  function remember(key: string, { seconds, end }: { readonly seconds: number; readonly end: number }): void {
    forgetEnded();
    let keys = ends.get(seconds);
    if (keys === undefined) {
      keys = new Map();
      ends.set(seconds, keys);
    }
    // Deleted first, so that it stands at the end.
    keys.delete(key);
    keys.set(key, end);
    while (size() > maxKeys) forgetFirstToEnd();
  }

  return {
    prepare,
    size,
    async count(key, points, windowSeconds): Promise<Count> {
      const seconds = Math.min(windowSeconds, LONGEST_SECONDS);
      const counted = await (limiter ?? (await prepare())).penalty(key, points, { customDuration: seconds });
      // The library looks at the clock; when that was set back, a timer still ends the window in time.
      const endsInMs = Math.min(counted.msBeforeNext, seconds * 1000);
      if (counted.isFirstInDuration) remember(key, { seconds, end: now() + endsInMs });
      return { consumed: counted.consumedPoints, endsInMs };
    },
    async close() {
      // Their timers would hold them until the windows end.
      for (const keys of ends.values()) for (const key of keys.keys()) void limiter?.delete(key);
      ends.clear();
    },
  };
}
