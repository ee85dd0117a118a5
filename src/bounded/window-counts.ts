import { copyString } from "./own-text.ts";

/**
 * Counts per key, in fixed windows. The window of a key starts when it is first counted. Limited in the number of keys, each
 * of which needs less than 300 bytes (docs/decisions/0011-own-rate-limit-memory.md).
 */
export interface WindowCounts {
  /** Adds `points`. With 0, only reads. */
  count(key: string, points: number, limit: WindowLimit): WindowCount;
  /** The number of stored keys. */
  size(): number;
  clear(): void;
}

export interface WindowLimit {
  /** A key that has reached it is blocked until its window ends. */
  readonly max: number;
  readonly windowMs: number;
}

export interface WindowCount {
  readonly consumed: number;
  readonly endsInMs: number;
}

export interface WindowCountsOptions {
  readonly now: () => number;
  /**
   * Above this limit, the unblocked key whose window ends first is evicted. A blocked key stays until its window ends.
   * Otherwise, clients with many addresses could unblock each other. If all keys are blocked, new keys share one count.
   */
  readonly maxKeys: number;
}

interface Window {
  since: number;
  consumed: number;
}

/** Windows of the same length. A Map preserves the order of insertion, so the first window is the oldest. */
interface Windows {
  readonly open: Map<string, Window>;
  readonly blocked: Map<string, Window>;
  /** Shared by all keys that did not fit. */
  shared: Window | undefined;
}

export function openWindowCounts({ now, maxKeys }: WindowCountsOptions): WindowCounts {
  const byLength = new Map<number, Windows>();
  let size = 0;

  function windowsOf(windowMs: number): Windows {
    const known = byLength.get(windowMs);
    if (known !== undefined) return known;
    const windows: Windows = { open: new Map(), blocked: new Map(), shared: undefined };
    byLength.set(windowMs, windows);
    return windows;
  }

  function dropEnded(time: number): void {
    for (const [windowMs, { open, blocked }] of byLength) {
      for (const windows of [open, blocked]) {
        for (const [key, { since }] of windows) {
          if (time - since < windowMs) break;
          windows.delete(key);
          size--;
        }
      }
    }
  }

  /** Returns whether another key fits. */
  function makeRoom(time: number): boolean {
    dropEnded(time);
    if (size < maxKeys) return true;
    let first: { readonly open: Map<string, Window>; readonly key: string; readonly end: number } | undefined;
    for (const [windowMs, { open }] of byLength) {
      for (const [key, { since }] of open) {
        if (first === undefined || since + windowMs < first.end) first = { open, key, end: since + windowMs };
        break;
      }
    }
    if (first === undefined) return false;
    first.open.delete(first.key);
    size--;
    return true;
  }

  /** The window of a key, unless it has ended. */
  function find(key: string, { open, blocked }: Windows, current: Current): Window | undefined {
    const window = open.get(key) ?? blocked.get(key);
    if (window === undefined || isCurrent(window, current)) return window;
    if (open.delete(key) || blocked.delete(key)) size--;
    return undefined;
  }

  function begin(key: string, windows: Windows, current: Current): Window {
    const window = { since: current.time, consumed: 0 };
    if (makeRoom(current.time)) {
      windows.open.set(copyString(key), window);
      size++;
      return window;
    }
    if (windows.shared === undefined || !isCurrent(windows.shared, current)) windows.shared = window;
    return windows.shared;
  }

  /** The count of a key without a window. */
  function countWithoutWindow({ shared }: Windows, current: Current): WindowCount {
    const { time, windowMs } = current;
    const isFull = size >= maxKeys && [...byLength.values()].every(({ open }) => open.size === 0);
    if (!isFull || shared === undefined || !isCurrent(shared, current)) return { consumed: 0, endsInMs: windowMs };
    return { consumed: shared.consumed, endsInMs: shared.since + windowMs - time };
  }

  return {
    count(key, points, { max, windowMs }) {
      const current = { time: now(), windowMs };
      const windows = windowsOf(windowMs);
      const known = find(key, windows, current);
      if (known === undefined && points === 0) return countWithoutWindow(windows, current);
      const window = known ?? begin(key, windows, current);
      window.consumed += points;
      const [from, to] = window.consumed < max ? [windows.blocked, windows.open] : [windows.open, windows.blocked];
      if (from.delete(key)) to.set(copyString(key), window);
      return { consumed: window.consumed, endsInMs: window.since + windowMs - current.time };
    },
    size: () => size,
    clear() {
      byLength.clear();
      size = 0;
    },
  };
}

interface Current {
  readonly time: number;
  readonly windowMs: number;
}

function isCurrent(window: Window, { time, windowMs }: Current): boolean {
  // If the clock was set back, no client must wait longer than a window.
  window.since = Math.min(window.since, time);
  return time - window.since < windowMs;
}
