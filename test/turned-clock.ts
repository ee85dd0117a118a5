import type { After } from "../src/time-limit.ts";

/** A fake clock with timers, which the test controls. */
export interface FakeClock {
  /** The system time, which `set` can change. */
  now(): number;
  readonly after: After;
  /** Advances the time. Each due timer fires at its time, followed by all the work that it triggers. */
  advance(ms: number): Promise<void>;
  /** Changes the system time by `byMs`, without affecting timers. */
  set(byMs: number): void;
  /** The number of pending timers. */
  timers(): number;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

/** Waits until all work has run that needs no timer. */
export function runPendingWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function fakeClock(start = Date.parse("2026-01-02T03:04:05Z")): FakeClock {
  const timers = new Set<Timer>();
  let passed = 0;
  let offset = start;

  function nextUntil(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }

  return {
    now: () => passed + offset,
    after(ms, work) {
      if (!(ms >= 0 && ms < 2 ** 31)) throw new Error(`no timer waits ${ms} ms`);
      const timer = { at: passed + ms, work };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const end = passed + ms;
      await runPendingWork();
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        passed = Math.max(passed, timer.at);
        timers.delete(timer);
        timer.work();
        await runPendingWork();
      }
      passed = end;
    },
    set(byMs) {
      offset += byMs;
    },
    timers: () => timers.size,
  };
}
