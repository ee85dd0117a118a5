import type { After } from "../src/time-limit.ts";

/** A clock and timers that a test turns. */
export interface TurnedClock {
  /** The clock on the wall: it can be set. */
  now(): number;
  readonly after: After;
  /** Lets time pass: every timer on the way fires at its time, and what it sets off comes to rest. */
  advance(ms: number): Promise<void>;
  /** Somebody sets the clock: timers do not notice. */
  set(byMs: number): void;
  /** Timers that wait. */
  timers(): number;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

/** Everything that can go on without time passing has gone on. */
export function atRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function turnedClock(start = Date.parse("2026-01-02T03:04:05Z")): TurnedClock {
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
      await atRest();
      for (let timer = nextUntil(end); timer !== undefined; timer = nextUntil(end)) {
        passed = Math.max(passed, timer.at);
        timers.delete(timer);
        timer.work();
        await atRest();
      }
      passed = end;
    },
    set(byMs) {
      offset += byMs;
    },
    timers: () => timers.size,
  };
}
